// backend/tcp/greeting.hpp - the first messages of a connection: the client's identity, and its proof of the token.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "frame.hpp"
#include "token.hpp"

namespace cleave::backend::tcp {

/// The other side has said no, and why; or is to be told so. `for_now`: it may say yes to who comes again later.
struct Refusal : Error {
  explicit Refusal(std::string const& why, bool now = false) : Error(why), for_now(now) {}
  bool for_now;
};

inline constexpr std::size_t most_name = 64;  // bytes of a container's name

/// The client's proof: a code of the server's random number and of the client's greeting, with the token as key.
inline Digest proof(std::string const& token, std::string_view nonce, Head const& hello, std::string_view name) {
  std::string said("cleave client 1");
  said += nonce;
  said.append(reinterpret_cast<char const*>(&hello.plan), sizeof hello.plan);
  said.append(reinterpret_cast<char const*>(&hello.event.worker), sizeof hello.event.worker);
  return hmac(token, said += name);
}
inline void refuse(Socket const& to, Refusal const& refusal, Deadline const& by) {
  std::string const why = refusal.what();
  Head h;
  h.kind = Kind::Refused;
  h.version = refusal.for_now ? 1 : 0;
  send(to, h, why.data(), why.size(), by);
}

/// Tells a client that it is to stop, and why.
inline void stop(Socket const& to, std::string const& why, Deadline const& by) {
  Head h;
  h.kind = Kind::Stopped;
  send(to, h, why.data(), why.size(), by);
}

/// The client's part: greets, and returns the welcome. Throws Refusal with the server's reason.
inline Head introduce(Socket const& to, Head hello, std::string const& name, std::string const& token,
                      Deadline const& by) {
  hello.kind = Kind::Hello;
  send(to, hello, name.data(), name.size(), by);
  std::vector<unsigned char> payload;
  Head h = receive(to, payload, 1024, by);
  auto const text = [&] { return std::string(payload.begin(), payload.end()); };
  if (h.kind == Kind::Challenge) {
    if (token.empty()) {
      throw Refusal(to.peer() + " asks for a token: set CLEAVE_TOKEN, or say --token-file, to what the server has");
    }
    Digest const code = proof(token, text(), hello, name);
    Head answer;
    answer.kind = Kind::Proof;
    send(to, answer, code.data(), code.size(), by);
    h = receive(to, payload, 1024, by);
  }
  if (h.kind == Kind::Refused) throw Refusal(to.peer() + ": " + text(), h.version != 0);
  if (h.kind != Kind::Welcome) throw Error({to.peer(), " answers with what is no welcome; is it the same version?"});
  return h;
}
/// The server's part, before the welcome: reads the greeting and, if there is a token, verifies the client's proof of
/// it. Nothing in the greeting is trusted before. Throws Refusal with the reason to send.
inline Head hear_hello(Socket const& from, std::string& name, std::string const& token, Deadline const& by) {
  std::vector<unsigned char> payload;
  Head const hello = receive(from, payload, most_name, by);
  if (hello.kind != Kind::Hello) throw Refusal("a connection begins with a hello");
  name.assign(payload.begin(), payload.end());
  if (token.empty()) return hello;
  Digest const nonce = random_bytes();
  Head ask;
  ask.kind = Kind::Challenge;
  send(from, ask, nonce.data(), nonce.size(), by);
  Head const answer = receive(from, payload, nonce.size(), by);
  Digest code{};
  if (answer.kind == Kind::Proof && payload.size() == code.size())
    std::memcpy(code.data(), payload.data(), code.size());
  if (!equal(code, proof(token, view(nonce), hello, name))) throw Refusal("the server has another token");
  return hello;
}

}  // namespace cleave::backend::tcp
