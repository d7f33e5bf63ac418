// tests/io/json_tree.hpp - a whole JSON text as a tree, for tests that look into small ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cleave/io/json.hpp>

namespace scratch {

/// One JSON value and all below it; `kind` says which of the members count. Arrays and objects are Begin...
struct Json {
  using Kind = cleave::io::JsonToken;

  Kind kind = Kind::Null;
  bool boolean = false;
  double number = 0;
  std::optional<std::int64_t> whole;
  std::optional<std::uint64_t> natural;
  std::string string;
  std::vector<std::string> names;  // of an object, in the order written; names[i] belongs to items[i]
  std::vector<Json> items;

  bool is(Kind asked) const { return kind == asked; }
  Json const* find(std::string_view name) const {
    auto const at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? nullptr : &items[static_cast<std::size_t>(at - names.begin())];
  }
};

inline Json tree(cleave::io::JsonReader& json) {
  Json value{json.token(), json.boolean(), json.number(), json.whole(), json.natural(), json.string(), {}, {}};
  bool const array = value.is(Json::Kind::BeginArray), object = value.is(Json::Kind::BeginObject);
  while ((array && json.next() != Json::Kind::EndArray) || (object && json.next() != Json::Kind::EndObject)) {
    if (object) {
      value.names.push_back(json.string());
      json.next();
    }
    value.items.push_back(tree(json));
  }
  return value;
}

inline Json parse_json(std::string_view text, std::string source = "text") {
  cleave::io::JsonReader json(text, std::move(source));
  json.next();
  Json value = tree(json);
  json.next();
  return value;
}

}  // namespace scratch
