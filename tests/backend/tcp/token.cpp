// backend/tcp/token.cpp - codes against the vectors of their standards; tokens that are none.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/backend/tcp/token.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "../../io/scratch.hpp"

using namespace cleave;
using namespace cleave::backend::tcp;

namespace {
std::string hex(Digest const& d) {
  std::string text;
  for (unsigned char const c : d) {
    text += "0123456789abcdef"[c >> 4];
    text += "0123456789abcdef"[c & 15];
  }
  return text;
}
}  // namespace

TEST_CASE("SHA-256 of the standard's messages") {  // FIPS 180-4's examples
  CHECK(hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hex(sha256(std::string(1000000, 'a'))) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
TEST_CASE("HMAC-SHA-256 of RFC 4231's test cases 1, 2 and 6") {
  CHECK(hex(hmac(std::string(20, '\x0b'), "Hi There")) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hex(hmac("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hex(hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}
TEST_CASE("codes are equal where every byte is; random ones are not") {
  Digest const a = random_bytes();
  for (std::size_t i = 0; i < a.size(); ++i) {
    Digest b = a;
    CHECK(equal(a, b));
    b[i] ^= 0x80;
    CHECK(!equal(a, b));
  }
  CHECK(!equal(a, random_bytes()));
  CHECK(random_token().size() == 64);
}
TEST_CASE("a token: long enough, from a file that is its owner's, or the environment") {
  scratch::Folder const folder;
  std::string const path = folder / "token";
  std::ofstream(path) << "0123456789abcdef\n";
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  CHECK(token_of(path, nullptr) == "0123456789abcdef");
  CHECK(token_of(path, "of the environment") == "0123456789abcdef");
  CHECK(token_of("", "of the environment") == "of the environment");
  CHECK(token_of("", nullptr).empty());
  for (mode_t const open : {0640u, 0604u, 0620u, 0602u}) {
    REQUIRE(::chmod(path.c_str(), open) == 0);
    CHECK_THROWS_WITH_AS(token_of(path, nullptr), doctest::Contains("chmod 600"), Error);
  }
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  std::ofstream(path) << "short\n";
  CHECK_THROWS_WITH_AS(token_of(path, nullptr), doctest::Contains("at least 16 characters, got 5"), Error);
  CHECK_THROWS_WITH_AS(token_of("", ""), doctest::Contains("CLEAVE_TOKEN: a token has at least 16"), Error);
  CHECK_THROWS_WITH_AS(token_of(folder / "none", nullptr), doctest::Contains("cannot read the token"), Error);
}
