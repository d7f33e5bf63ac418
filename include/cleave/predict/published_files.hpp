// predict/published_files.hpp - the tensors of a published model, in one safetensors file or in several with an index.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../io/json.hpp"
#include "../train/checkpoint.hpp"

namespace cleave::session {

/// `path` is a safetensors file or, if it ends in ".json", an index such as model.safetensors.index.json of the Python
/// package transformers: its weight_map says which file beside it has which tensor. Throws Error if a file cannot be
/// read, is not beside the index, lacks a tensor of the index, or has one that another file has too.
class PublishedFiles {
 public:
  explicit PublishedFiles(std::string const& path) : path_(path) {
    if (path.ends_with(".json")) {
      read_index();
    } else {
      add(path);
    }
  }

  std::string const& path() const { return path_; }
  io::NamedTensor const* find(std::string_view name) const {
    TensorOfFile const* const t = entry(name);
    return t ? t->tensor : nullptr;
  }
  /// As read_tensor.
  void read(Kept const& k, float* out) const {
    TensorOfFile const* const t = entry(k.name);
    read_tensor(files_[t ? t->file : 0], t ? paths_[t->file] : path_, k, out);
  }
  /// visit(NamedTensor) of each tensor, file by file.
  template <class Visit> void each(Visit visit) const {
    for (TensorOfFile const& t : tensors_) visit(*t.tensor);
  }

 private:
  struct TensorOfFile {
    io::NamedTensor const* tensor;
    std::size_t file;
  };

  TensorOfFile const* entry(std::string_view name) const {
    for (TensorOfFile const& t : tensors_) {
      if (t.tensor->name == name) return &t;
    }
    return nullptr;
  }
  void add(std::string const& path) {
    files_.push_back(io::load_safetensors(path, io::Checksum::IfPresent));
    paths_.push_back(path);
    for (io::NamedTensor const& t : files_.back().tensors()) {
      if (TensorOfFile const* const other = entry(t.name))
        throw Error({path_, ": tensor ", t.name, " is in ", paths_[other->file], " and in ", path});
      tensors_.push_back({&t, files_.size() - 1});
    }
  }
  void read_index() {
    std::vector<std::pair<std::string, std::string>> const map = weight_map();
    if (map.empty())
      throw Error({path_, ": no weight_map that names the files of tensors; is this the index of a model?"});
    std::vector<std::string> names;
    for (auto const& [tensor, file] : map) {
      if (std::find(names.begin(), names.end(), file) == names.end()) names.push_back(file);
    }
    files_.reserve(names.size());
    for (std::string const& name : names) {
      if (name.find('/') != std::string::npos)
        throw Error({path_, ": the file ", name, " of weight_map is not beside the index"});
      add(beside(name));
    }
    for (auto const& [tensor, file] : map) {
      if (TensorOfFile const* const t = entry(tensor); !t || paths_[t->file] != beside(file))
        throw Error({path_, ": tensor ", tensor, " is not in ", file, ", where weight_map has it"});
    }
  }
  std::string beside(std::string const& name) const {
    return std::filesystem::path(path_).replace_filename(name).string();
  }
  /// Of each tensor the name of its file.
  std::vector<std::pair<std::string, std::string>> weight_map() const {
    std::vector<unsigned char> const bytes = io::read_file(path_);
    io::JsonReader json({reinterpret_cast<char const*>(bytes.data()), bytes.size()}, path_);
    std::vector<std::pair<std::string, std::string>> map;
    if (json.next() != io::JsonToken::BeginObject) return map;
    while (json.next() == io::JsonToken::Name) {
      bool const wanted = json.string() == "weight_map";
      if (json.next() != io::JsonToken::BeginObject || !wanted) {
        json.skip();
        continue;
      }
      while (json.next() == io::JsonToken::Name) {
        std::string tensor = json.string();
        if (json.next() != io::JsonToken::String) return {};
        map.emplace_back(std::move(tensor), json.string());
      }
    }
    json.next();  // more text would be an error
    return map;
  }

  std::string path_;
  std::vector<io::SafeTensors> files_;
  std::vector<std::string> paths_;
  std::vector<TensorOfFile> tensors_;
};

}  // namespace cleave::session
