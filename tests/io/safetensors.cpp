// tests/io/safetensors.cpp - checkpoints round trip; every cut, every flipped bit and every known attack is refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/safetensors.hpp>
#include <cstring>

#include "heap.hpp"
#include "scratch.hpp"

using namespace cleave::io;
using scratch::has;

namespace {

std::vector<unsigned char> const data = [] {
  std::vector<unsigned char> bytes(64);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(3 * i + 1);
  return bytes;
}();

Bytes some(std::size_t size) { return Bytes(data).first(size); }

std::vector<NamedTensor> small() {
  return {{"step", Dtype::U8, {3}, some(3)},           {"layer.0.weight", Dtype::F32, {2, 3}, some(24)},
          {"half", Dtype::BF16, {1, 1}, some(2)},      {"count", Dtype::I64, {}, some(8)},
          {"layer.0.bias", Dtype::F32, {3}, some(12)}, {"nothing", Dtype::F64, {0, 5}, {}}};
}

std::vector<unsigned char> saved_bytes() {
  scratch::Folder const folder;
  save_safetensors(folder / "x", small(), {{"seed", "7"}, {"note", "a \"b\"\n"}});
  return read_file(folder / "x");
}

/// A file by hand: this header, padded or not, and a payload of so many bytes.
std::vector<unsigned char> by_hand(std::string const& header, std::size_t payload) {
  std::vector<unsigned char> file(8);
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<unsigned char>(header.size() >> 8 * i);
  file.insert(file.end(), header.begin(), header.end());
  file.resize(file.size() + payload);
  return file;
}

std::string refusal(std::vector<unsigned char> file, Checksum checksum = Checksum::IfPresent) {
  return scratch::message([&] { SafeTensors(std::move(file), "x.safetensors", checksum); });
}

std::string refusal(std::string const& header, std::size_t payload) { return refusal(by_hand(header, payload)); }

bool same(SafeTensors const& a, SafeTensors const& b) {
  bool equal = a.metadata() == b.metadata() && a.tensors().size() == b.tensors().size();
  for (std::size_t i = 0; equal && i < a.tensors().size(); ++i) {
    NamedTensor const& s = a.tensors()[i];
    NamedTensor const& t = b.tensors()[i];
    equal = s.name == t.name && s.dtype == t.dtype && s.shape == t.shape &&
            std::equal(s.bytes.begin(), s.bytes.end(), t.bytes.begin(), t.bytes.end());
  }
  return equal;
}

}  // namespace

TEST_CASE("io/safetensors: what is saved is loaded") {
  scratch::Folder const folder;
  save_safetensors(folder / "x", small(), {{"seed", "7"}, {"note", "a \"b\"\n"}});
  SafeTensors const file = load_safetensors(folder / "x");
  CHECK(file.tensors().size() == 6);
  for (NamedTensor const& tensor : small()) {
    NamedTensor const* const found = file.find(tensor.name);
    REQUIRE(found != nullptr);
    CHECK(found->dtype == tensor.dtype);
    CHECK(found->shape == tensor.shape);
    CHECK(std::equal(found->bytes.begin(), found->bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
  }
  CHECK(file.find("layer") == nullptr);
  CHECK(*file.find_metadata("seed") == "7");
  CHECK(*file.find_metadata("note") == "a \"b\"\n");
  CHECK(file.find_metadata("none") == nullptr);
}

TEST_CASE("io/safetensors: the layout is the published one: padded header, aligned tensors, no holes") {
  std::vector<unsigned char> const bytes = saved_bytes();
  std::size_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | bytes[i];
  CHECK(length % 8 == 0);
  CHECK(bytes[8] == '{');
  CHECK(bytes.size() == 8 + length + 24 + 12 + 8 + 3 + 2);
  SafeTensors const file(bytes, "x", Checksum::Required);
  unsigned char const* const payload = file.tensors()[0].bytes.data();
  for (NamedTensor const& tensor : file.tensors())
    CHECK(static_cast<std::size_t>(tensor.bytes.data() - payload) % facts(tensor.dtype).width == 0);
  // Stable within a width: the weight was given before the bias.
  CHECK(file.find("layer.0.weight")->bytes.data() < file.find("layer.0.bias")->bytes.data());
  Crc32c const crc = Crc32c().add(Bytes(bytes).subspan(8 + length));
  CHECK(*file.find_metadata("checksum") == "crc32c:" + hex(crc.value()));
}

TEST_CASE("io/safetensors: a file with no tensors round trips") {
  scratch::Folder const folder;
  save_safetensors(folder / "x", {});
  CHECK(load_safetensors(folder / "x").tensors().empty());
}

TEST_CASE("io/safetensors: moving the file keeps its tensors valid") {
  SafeTensors first(saved_bytes(), "x", Checksum::Required);
  SafeTensors const second = std::move(first);
  CHECK(second.find("count")->bytes[7] == data[7]);
}

TEST_CASE("io/safetensors: every truncation is refused, and so is every appended byte") {
  std::vector<unsigned char> const whole = saved_bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::vector<unsigned char> const cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    CAPTURE(size);
    std::string const message = refusal(cut);
    REQUIRE(has(message, "x.safetensors"));
  }
  std::vector<unsigned char> longer = whole;
  longer.push_back(0);
  CHECK(has(refusal(longer), "payload"));
}

TEST_CASE("io/safetensors: every single flipped bit is refused or changes nothing") {
  std::vector<unsigned char> const whole = saved_bytes();
  SafeTensors const original(whole, "x", Checksum::Required);
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::vector<unsigned char> flipped = whole;
    flipped[bit / 8] = static_cast<unsigned char>(flipped[bit / 8] ^ (1U << bit % 8));
    CAPTURE(bit);
    try {
      SafeTensors const read(std::move(flipped), "x", Checksum::Required);
      REQUIRE(same(read, original));
    } catch (cleave::Error const&) {
    }
  }
}

TEST_CASE("io/safetensors: an altered payload and a renamed tensor are told by their checksums") {
  std::vector<unsigned char> payload = saved_bytes();
  payload.back() ^= 1;
  CHECK(has(refusal(payload), "its checksum is"));
  std::string text(reinterpret_cast<char const*>(saved_bytes().data()), saved_bytes().size());
  text[text.find("\"half\"") + 1] = 'c';
  CHECK(has(refusal(scratch::bytes(text)), "its header_checksum is"));
}

TEST_CASE("io/safetensors: a file of others, without checksums, is taken only where that is allowed") {
  auto const file = by_hand(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", 4);
  CHECK(refusal(file, Checksum::IfPresent).empty());
  CHECK(has(refusal(file, Checksum::Required), "has no \"header_checksum\""));
}

TEST_CASE("io/safetensors: tensors may stand in the header in any order") {
  std::string const a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[3,5]})";
  std::string const b = R"("b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]})";
  SafeTensors const file(by_hand("{" + a + "," + b + "}", 5), "x", Checksum::IfPresent);
  CHECK(file.tensors()[0].name == "b");
  CHECK(file.find("a")->bytes.size() == 2);
}

TEST_CASE("io/safetensors: header lengths out of bounds") {
  for (std::uint64_t const length : {std::uint64_t{100'000'001}, ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
    std::vector<unsigned char> file = by_hand("{}", 0);
    for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<unsigned char>(length >> 8 * i);
    CHECK(has(refusal(file), "claims " + std::to_string(length)));
  }
  std::vector<unsigned char> file = by_hand("{}", 0);
  file[0] = 3;
  CHECK(has(refusal(file), "claims 3 bytes, 2 are there"));
  CHECK(has(refusal(std::vector<unsigned char>(7)), "it has 7 bytes"));
  CHECK(has(refusal(std::vector<unsigned char>(8)), "begin with '{'"));
  CHECK(has(refusal(" {}", 0), "begin with '{'"));
}

TEST_CASE("io/safetensors: known attacks on the layout") {
  CHECK(refusal(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4).empty());
  // 2^32 * 2^32 wraps to 0, 2^61 * 8 as well, (2^64-1) * 4 to 2^64-4.
  CHECK(has(refusal(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
            "more than 2^64"));
  CHECK(
      has(refusal(R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0), "more than 2^64"));
  CHECK(has(refusal(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4),
            "more than 2^64"));
  CHECK(has(refusal(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", 4), "[4, 0)"));
  CHECK(
      has(refusal(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[18446744073709551612,18446744073709551615]}})", 4),
          "payload of 4"));
  CHECK(has(refusal(R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}})", 4), "payload of 4"));
  CHECK(has(refusal(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,4]}})", 4), "takes 3 bytes"));
  CHECK(has(refusal(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})", 4), "hole"));
  CHECK(has(refusal(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", 4), "end at byte 3 of a payload of 4"));
  CHECK(has(refusal(R"({})", 4), "end at byte 0"));
  std::string const a = R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)";
  CHECK(has(refusal(a + R"("b":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}})", 5), "overlap"));
  CHECK(has(refusal(a + R"("b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", 3), "overlap"));
  CHECK(has(refusal(a + R"("b":{"dtype":"U8","shape":[1],"data_offsets":[4,5]}})", 5), "hole"));
}

TEST_CASE("io/safetensors: known attacks on the header's text") {
  std::string const good = R"("dtype":"U8","shape":[1],"data_offsets":[0,1])";
  CHECK(refusal("{\"a\":{" + good + "}}   ", 1).empty());
  CHECK(has(refusal("{\"a\":{" + good + "},\"a\":{" + good + "}}", 1), "twice"));
  CHECK(has(refusal("{\"a\":{" + good + "},\"\\u0061\":{" + good + "}}", 1), "twice"));
  CHECK(has(refusal("{\"a\":{" + good + ",\"dtype\":\"F32\"}}", 1), "twice"));
  CHECK(has(refusal("{\"a\":{" + good + ",\"more\":1}}", 1), "nothing else"));
  CHECK(has(refusal("{\"a\":{" + good + "}}x", 1), "not valid JSON"));
  CHECK(has(refusal("{\"a\":[1,2,3]}", 1), "needs dtype"));
  CHECK(has(refusal(R"({"a":{"dtype":"F8","shape":[1],"data_offsets":[0,1]}})", 1), "unknown dtype \"F8\""));
  CHECK(has(refusal(R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,1]}})", 1), "unknown dtype"));
  CHECK(has(refusal(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1), "whole numbers"));
  CHECK(has(refusal(R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1), "whole numbers"));
  CHECK(has(refusal(R"({"a":{"dtype":"U8","shape":{"x":1},"data_offsets":[0,1]}})", 1), "whole numbers"));
  CHECK(has(refusal(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}})", 1), "3 data_offsets"));
  CHECK(has(refusal(R"({"__metadata__":{"x":1}})", 0), "not a string"));
  CHECK(has(refusal(R"({"__metadata__":[]})", 0), "not an object"));
  CHECK(has(refusal(R"({"__metadata__":{"checksum":"crc32c:00000001"}})", 0), "its bytes give crc32c:00000000"));
  CHECK(has(refusal(R"({"__metadata__":{"header_checksum" : "crc32c:00000001"}})", 0), "no known form"));
}

TEST_CASE("io/safetensors: what cannot be loaded is not saved either") {
  scratch::Folder const folder;
  auto const complaint = [&](std::vector<NamedTensor> tensors, Metadata const& metadata = {}) {
    return scratch::message([&] { save_safetensors(folder / "x", std::move(tensors), metadata); });
  };
  NamedTensor const a{"a", Dtype::F32, {2}, some(8)};
  CHECK(has(complaint({a, a}), "\"a\" is taken"));
  CHECK(has(complaint({{"__metadata__", Dtype::U8, {1}, some(1)}}), "is taken"));
  CHECK(has(complaint({a}, {{"checksum", "mine"}}), "is taken"));
  CHECK(has(complaint({{"a", Dtype::F32, {3}, some(8)}}), "comes with 8 bytes, its shape takes 12"));
  CHECK(has(complaint({{"\xFF", Dtype::U8, {1}, some(1)}}), "not UTF-8"));
  CHECK(has(complaint({a}, {{"k", "\xFF"}}), "not UTF-8"));
  CHECK_FALSE(exists(folder / "x"));
}

TEST_CASE("io/safetensors: a header whose checksum fails is told by it, whatever its text says") {
  std::string text(reinterpret_cast<char const*>(saved_bytes().data()), saved_bytes().size());
  text[text.find("\"shape\"")] = '#';
  CHECK(has(refusal(scratch::bytes(text)), "its header_checksum is"));
}

TEST_CASE("io/safetensors: a header of ten megabytes is read, or refused, in at most forty") {
  constexpr std::size_t size = 10'000'000;
  auto const peak = [](std::string const& begin, auto item, std::string const& end, std::string const& told) {
    std::string header = begin;
    header.reserve(size + 100);
    for (int i = 0; header.size() < size; ++i) header += item(i);
    std::vector<unsigned char> file = by_hand(header + end, 0);
    file.shrink_to_fit();
    header = std::string();
    std::string message;
    std::size_t const own = file.size();
    std::size_t const more = scratch::peak_of([&] { message = refusal(std::move(file)); });
    CHECK(has(message, told));
    CHECK(message.empty() == told.empty());
    return own + more;
  };
  constexpr std::size_t most = 4 * size;
  std::string const u8 = R"({"dtype":"U8","data_offsets":[0,0],"shape":)";
  auto const same_each = [](std::string const& text) { return [text](int) { return text; }; };
  CHECK(peak("{\"a\":[0", same_each(",0"), "]}", "needs dtype") < most);
  CHECK(peak("{\"a\":" + u8 + "[0", same_each(",0"), "]}}", "more than 64 numbers") < most);
  auto const tensor = [&](int i) { return (i ? ",\"" : "\"") + std::to_string(i) + "\":" + u8 + "[0]}"; };
  CHECK(peak("{", tensor, "}", "") < most);
  auto const key = [](int i) { return (i ? ",\"" : "\"") + std::to_string(i) + "\":\"\""; };
  CHECK(peak("{\"__metadata__\":{", key, "}}", "more than 65536 metadata keys") < most);
  CHECK(peak("{\"__metadata__\":{\"note\":\"", same_each("a"), "\"}}", "") < most);
  CHECK(peak("{\"__metadata__\":{\"checksum\":\"", same_each("a"), "\"}}", "no known form") < most);
  CHECK(peak("{\"__metadata__\":{\"", same_each("a"), "\":\"\"}}", "metadata key of more than") < most);
  CHECK(peak("{\"", same_each("a"), "\":" + u8 + "[0]}}", "by more than 65536 bytes") < most);
}

TEST_CASE("io/safetensors: a header that does not fit in memory is an Error") {
  scratch::Folder const folder;
  std::string header = "{";
  for (int i = 0; i < 1000; ++i)
    header += (i ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  std::vector<unsigned char> const file = by_hand(header + "}", 0);
  write_file(folder / "x", file);
  scratch::heap_most = file.size() + 64;  // the file fits, its list of tensors does not
  std::string const message = scratch::message([&] { load_safetensors(folder / "x", Checksum::IfPresent); });
  scratch::heap_most = static_cast<std::size_t>(-1);
  CHECK(has(message, "there is no memory for what its header lists"));
}
