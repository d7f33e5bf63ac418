// io/file.hpp - reads and writes whole files; a write either completes or leaves the old file unchanged.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cleave/meta/in_library.hpp>

#include <cerrno>
#include <cleave/io/descriptor.hpp>
#include <cleave/io/temporary.hpp>
#include <cleave/meta/error.hpp>
#include <cstddef>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace cleave::io {

using Bytes = std::span<unsigned char const>;

/// Whether a file or folder of this name exists.
inline bool exists(std::string const& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0;
}

/// The folder of a path: "a/b" for "a/b/c", "." for "c", "/" for "/c".
inline std::string folder_of(std::string const& path) {
  std::size_t const slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Creates a folder and missing ones above it; an existing one is fine. Throws Error.
inline void make_folder(std::string const& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string const part = path.substr(0, end);
    struct stat about {};
    // EEXIST alone is not enough: it may be a plain file.
    bool const made = ::mkdir(part.c_str(), 0777) == 0;
    int const code = errno;
    if (!made && (::stat(part.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)))
      throw Error({path, ": cannot make the folder: ", part, ": ", errno_text(code)});
    if (end == std::string::npos) return;
  }
}

/// Reads to the end; the size is only a hint (pipes and /proc say 0). Returns 0, or the errno of the failed read.
inline int read_to_end(int file, std::size_t size, std::vector<unsigned char>& bytes) {
  bytes.resize(size + 1);  // one byte more lets the end be seen without growing
  std::size_t filled = 0;
  ssize_t got = 0;
  do {
    if (filled == bytes.size()) bytes.resize(2 * filled + 4096);
    got = ::read(file, bytes.data() + filled, bytes.size() - filled);
    if (got > 0) filled += static_cast<std::size_t>(got);
  } while (got > 0 || (got < 0 && errno == EINTR));
  int const code = got < 0 ? errno : 0;
  bytes.resize(filled);
  return code;
}

/// All bytes of a file. Throws Error when it is missing, cannot be read or does not fit in memory.
CLEAVE_IN_LIBRARY std::vector<unsigned char> read_file(std::string const& path) {
  Descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (file.number() < 0 || ::fstat(file.number(), &about) != 0)
    throw Error({path, ": cannot open this file for reading: ", errno_text(errno)});
  std::vector<unsigned char> bytes;
  try {
    if (int const code = read_to_end(file.number(), static_cast<std::size_t>(about.st_size), bytes); code != 0)
      throw Error({path, ": reading failed after ", bytes.size(), " bytes: ", errno_text(code)});
  } catch (std::bad_alloc const&) {
    throw Error({path, ": there is no memory for its ", about.st_size, " bytes"});
  } catch (std::length_error const&) {
    throw Error({path, ": there is no memory for its ", about.st_size, " bytes"});
  }
  return bytes;
}

/// Writes the parts one after another. Returns 0, or the errno of the failed write.
inline int write_parts(int file, std::span<Bytes const> parts) {
  for (Bytes rest : parts) {
    while (!rest.empty()) {
      ssize_t const put = ::write(file, rest.data(), rest.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return errno;
      rest = rest.subspan(static_cast<std::size_t>(put));
    }
  }
  return 0;
}

/// Replaces (or creates) a file by these parts in order. The bytes are written to a temporary file beside it, synced to
/// disk, and only then renamed: a crash or a full disk leaves the old file unchanged. Temporary files of dead processes
/// in the folder are removed. Throws Error, after removing its temporary file.
CLEAVE_IN_LIBRARY void write_file(std::string const& path, std::span<Bytes const> parts) {
  remove_stale_temporaries(folder_of(path));
  Temporary file(path);
  if (file.number() < 0) throw Error({path, ": cannot write here: ", errno_text(file.code())});
  int code = write_parts(file.number(), parts);
  if (code == 0) code = file.land();
  if (code != 0) throw Error({path, ": writing failed, nothing was changed: ", errno_text(code)});
  // Without this the rename may be lost in a power failure. A file system that cannot sync folders returns EINVAL.
  Descriptor const folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if ((folder.number() < 0 || ::fsync(folder.number()) != 0) && errno != EINVAL)
    throw Error({path, ": written, but its folder could not be synced to disk: ", errno_text(errno)});
}

inline void write_file(std::string const& path, Bytes bytes) { write_file(path, std::span<Bytes const>(&bytes, 1)); }

/// Gives a file a second name, which another file may have had: a hard link, or a copy if links are not supported.
/// False if neither can be.
inline bool second_name(std::string const& path, std::string const& name) {
  ::unlink(name.c_str());
  if (::link(path.c_str(), name.c_str()) == 0) return true;
  try {
    write_file(name, read_file(path));
    return true;
  } catch (Error const&) {
    return false;
  }
}

/// The path of a data file: in `folder` or in `folder/inner`. Throws Error naming both if it is in neither.
inline std::string locate(std::string const& folder, std::string const& inner, std::string const& name) {
  std::string const places[] = {folder + "/" + name, folder + "/" + inner + "/" + name};
  for (std::string const& path : places)
    if (exists(path)) return path;
  for (std::string const& path : places)
    if (exists(path + ".gz")) throw Error({path, ".gz is packed; unpack it: gunzip ", path, ".gz"});
  throw Error(
      {name, ": not found in ", folder, " nor in ", folder, "/", inner, "; name the folder that holds the data set"});
}

}  // namespace cleave::io
