// backend/tcp/token.hpp - the secret that clients share with a server, and proofs of it that do not reveal it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "../../meta/error.hpp"

namespace cleave::backend::tcp {

using Digest = std::array<unsigned char, 32>;

/// SHA-256. Source: NIST FIPS 180-4.
inline Digest sha256(std::string_view text) {
  static constexpr std::uint32_t k[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
      0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
      0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  std::uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::string padded(text);
  padded += '\x80';
  padded.resize((padded.size() + 8 + 63) / 64 * 64);
  std::uint64_t const bits = 8 * std::uint64_t{text.size()};
  for (std::size_t i = 0; i < 8; ++i) padded[padded.size() - 1 - i] = static_cast<char>(bits >> 8 * i);
  auto const byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(padded[i])}; };
  for (std::size_t at = 0; at < padded.size(); at += 64) {
    std::uint32_t w[64];
    for (std::size_t i = 0; i < 16; ++i) {
      std::size_t const b = at + 4 * i;
      w[i] = byte(b) << 24 | byte(b + 1) << 16 | byte(b + 2) << 8 | byte(b + 3);
    }
    for (int i = 16; i < 64; ++i) {
      std::uint32_t const s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
      std::uint32_t const s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    std::uint32_t v[8];
    std::memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; ++i) {
      std::uint32_t const s1 = std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25);
      std::uint32_t const one = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
      std::uint32_t const s0 = std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22);
      std::uint32_t const two = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
      std::memmove(v + 1, v, 7 * sizeof *v);
      v[4] += one;
      v[0] = one + two;
    }
    for (int i = 0; i < 8; ++i) h[i] += v[i];
  }
  Digest out;
  for (std::size_t i = 0; i < 32; ++i) out[i] = static_cast<unsigned char>(h[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}
inline std::string_view view(Digest const& d) { return {reinterpret_cast<char const*>(d.data()), d.size()}; }

/// HMAC-SHA256. Source: RFC 2104.
inline Digest hmac(std::string_view key, std::string_view text) {
  std::string block(key.size() > 64 ? view(sha256(key)) : key);
  block.resize(64);
  std::string inner = block, outer = block;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return sha256(outer.append(view(sha256(inner.append(text)))));
}
/// Compares in constant time.
inline bool equal(Digest const& a, Digest const& b) {
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= unsigned{a[i]} ^ unsigned { b[i] };
  return different == 0;
}
/// 32 random bytes that cannot be predicted.
inline Digest random_bytes() {
  Digest d;
  if (::getentropy(d.data(), d.size()) != 0) throw Error("the system gives no random numbers");
  return d;
}
inline std::string random_token() {
  std::string text;
  for (unsigned char const c : random_bytes()) {
    text += "0123456789abcdef"[c >> 4];
    text += "0123456789abcdef"[c & 15];
  }
  return text;
}

/// The length of the shortest valid token.
inline constexpr std::size_t token_length = 16;
inline std::string checked_token(std::string token, std::string const& from) {
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.size() < token_length) {
    throw Error({from, ": a token has at least ", token_length, " characters, got ", token.size(),
                 "; openssl rand -hex 16 makes one"});
  }
  return token;
}
/// The token in a file, which only its owner may read; without a file, that in `environment` (null: not set); else
/// none.
inline std::string token_of(std::string const& path, char const* environment) {
  if (path.empty()) return environment ? checked_token(environment, "CLEAVE_TOKEN") : "";
  int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (file < 0 || ::fstat(file, &about) != 0) {
    int const why = errno;
    if (file >= 0) ::close(file);
    throw Error({path, ": cannot read the token: ", std::strerror(why)});
  }
  char text[1024];
  ssize_t const got = ::read(file, text, sizeof text);
  ::close(file);
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw Error({path, ": other users may read or change this token; say chmod 600 ", path});
  }
  return checked_token(std::string(text, static_cast<std::size_t>(std::max<ssize_t>(got, 0))), path);
}

}  // namespace cleave::backend::tcp
