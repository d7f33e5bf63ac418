// tests/fuzz/frame.cpp - what a parameter server's connection brings: frames one behind the other. The first byte says
// whether their start, length and checksum are put right, so that what lies behind these is reached.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/tcp/frame.hpp>

#include "fuzz.hpp"

using namespace cleave::backend::tcp;

namespace {
constexpr std::size_t most = 256;  // bytes of a payload

std::string frame(Kind kind, std::string const& payload) {
  Head head;
  head.kind = kind;
  head.bytes = payload.size();
  head.check = checksum(head, payload.data());
  return std::string(reinterpret_cast<char const*>(&head), sizeof head) + payload;
}

std::string put_right(std::string bytes) {
  if (bytes.size() < sizeof(Head)) return bytes;
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  head.magic = Head{}.magic;
  head.bytes = bytes.size() - sizeof head;
  head.check = checksum(head, bytes.data() + sizeof head);
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}
}  // namespace

std::vector<std::string> fuzz::seeds() {
  return {"\1" + frame(Kind::Hello, "name"), std::string(1, '\0') + frame(Kind::Event, std::string(64, 'g')),
          std::string(1, '\0') + frame(Kind::Pull, "") + frame(Kind::Grant, "weights")};
}

void fuzz::read(std::string_view input) {
  if (input.empty() || input.size() > 4096) return;
  std::string const bytes = input[0] & 1 ? put_right(std::string(input.substr(1))) : std::string(input.substr(1));
  int ends[2];
  check(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a connection is made");
  Socket const here(ends[0], "the fuzzer"), there(ends[1], "the fuzzer");
  here.send(bytes.data(), bytes.size(), Milliseconds(1000));
  here.shut();
  std::vector<unsigned char> payload;
  for (std::size_t read = 0; read < bytes.size(); read += sizeof(Head) + payload.size()) {
    Head const head = receive(there, payload, most, Milliseconds(1000));
    check(payload.size() == head.bytes && payload.size() <= most, "a payload has the bytes that were announced");
  }
}
