// meta/law.hpp - a law is a class named as a sentence, with the numbers as arguments; asked softly, told once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::meta {

/// A law holds a `static constexpr bool holds` and a `template <bool> struct tell` with one static_assert in it.
template <class Law>
concept Obeyed = Law::holds;

/// Naming this type tells the law; `About` (a layer, a policy) stands beside the law in the compiler's message.
template <class Law, class... About> struct enforce : Law::template tell<Law::holds> {};

}  // namespace cleave::meta
