// tests/cli/faults.hpp - makes the i-th call of a kind fail, in the whole program; for one source of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace faults {

enum class Kind { None, Memory, Thread, File };

inline std::atomic<Kind> kind{Kind::None};
inline std::atomic<long> seen{0};            // calls of the kind so far
inline std::atomic<long> first{0};           // the call that fails, counted from 0
inline std::atomic<bool> ever_after{false};  // and all that follow

inline void arm(Kind what, long call, bool and_all_later) {
  seen = 0;
  first = call;
  ever_after = and_all_later;
  kind = what;
}

/// Is this call of the kind one to fail?
inline bool strikes(Kind what) {
  if (kind != what) return false;
  long const call = seen++;
  return call == first || (ever_after && call > first);
}

template <class F> F* real(F*, char const* name) { return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name)); }

}  // namespace faults

void* operator new(std::size_t size) {
  void* const at = faults::strikes(faults::Kind::Memory) ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }

// One definition for each call that may fail: its result is -1 with this errno.
#define CLEAVE_FAULT(name, result, code, parameters, arguments)      \
  extern "C" int name parameters {                                   \
    static auto* const next = faults::real(&::name, #name);          \
    if (!faults::strikes(faults::Kind::File)) return next arguments; \
    errno = code;                                                    \
    return result;                                                   \
  }
CLEAVE_FAULT(fsync, -1, EIO, (int file), (file))
CLEAVE_FAULT(flock, -1, ENOLCK, (int file, int what) noexcept, (file, what))
CLEAVE_FAULT(rename, -1, EIO, (char const* from, char const* to) noexcept, (from, to))
CLEAVE_FAULT(unlink, -1, EIO, (char const* path) noexcept, (path))
CLEAVE_FAULT(mkdir, -1, ENOSPC, (char const* path, mode_t mode) noexcept, (path, mode))
#undef CLEAVE_FAULT

extern "C" int close(int file) {
  static auto* const next = faults::real(&::close, "close");
  int const result = next(file);  // Linux gives the descriptor back whatever it answers
  if (!faults::strikes(faults::Kind::File)) return result;
  errno = EIO;
  return -1;
}
extern "C" ssize_t read(int file, void* to, std::size_t size) {
  static auto* const next = faults::real(&::read, "read");
  if (!faults::strikes(faults::Kind::File)) return next(file, to, size);
  errno = EIO;
  return -1;
}
extern "C" ssize_t write(int file, void const* from, std::size_t size) {
  static auto* const next = faults::real(&::write, "write");
  if (!faults::strikes(faults::Kind::File)) return next(file, from, size);
  errno = ENOSPC;
  return -1;
}
extern "C" int open(char const* path, int flags, ...) {
  static auto* const next = faults::real(&::open, "open");
  std::va_list more;
  va_start(more, flags);
  auto const mode = static_cast<mode_t>((flags & O_CREAT) ? va_arg(more, int) : 0);
  va_end(more);
  if (!faults::strikes(faults::Kind::File)) return next(path, flags, mode);
  errno = EMFILE;
  return -1;
}
extern "C" int pthread_create(pthread_t* thread, pthread_attr_t const* how, void* (*start)(void*),
                              void* with) noexcept {
  static auto* const next = faults::real(&::pthread_create, "pthread_create");
  return faults::strikes(faults::Kind::Thread) ? EAGAIN : next(thread, how, start, with);
}
extern "C" void* __libc_calloc(std::size_t, std::size_t);
extern "C" void* calloc(std::size_t count, std::size_t size) noexcept {
  if (!faults::strikes(faults::Kind::Memory)) return __libc_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}
