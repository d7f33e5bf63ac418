// io/parse_double.hpp - a double from text, as std::from_chars reads it, where the standard library has no such function.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <charconv>
#include <version>
#ifndef __cpp_lib_to_chars  // libc++ before 20: whole numbers only
#include <locale.h>
#include <stdlib.h>

#include <cerrno>
#include <cmath>
#include <string>
#endif

namespace cleave::io {

/// The longest number at the start of [first, last), with a point whatever the locale; no spaces, no `+`, no
/// hexadecimal. ec is invalid_argument where there is none, result_out_of_range where a double cannot hold it.
inline std::from_chars_result parse_double(char const* first, char const* last, double& value) {
#ifdef __cpp_lib_to_chars
  return std::from_chars(first, last, value);
#else
  static locale_t const plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  std::string text(first, last);
  std::size_t const sign = text.starts_with('-') ? 1 : 0;
  char const start = text.size() > sign ? text[sign] : '\0';
  if (!(start >= '0' && start <= '9') && start != '.' && start != 'i' && start != 'n' && start != 'I' && start != 'N')
    return {first, std::errc::invalid_argument};
  if (std::size_t const hex = text.find_first_of("xX"); hex == sign + 1) text.resize(hex);
  char* end = nullptr;
  errno = 0;
  double const read = ::strtod_l(text.c_str(), &end, plain);
  if (end == text.c_str()) return {first, std::errc::invalid_argument};
  char const* const stop = first + (end - text.c_str());
  bool const beyond = std::isinf(read) && start != 'i' && start != 'I', too_small = read == 0 && errno == ERANGE;
  if (beyond || too_small) return {stop, std::errc::result_out_of_range};
  value = read;
  return {stop, std::errc{}};
#endif
}

}  // namespace cleave::io
