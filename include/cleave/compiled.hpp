// compiled.hpp - with cleave::compiled, what is the same for every plan is compiled once: here it is declared.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A program links cleave::compiled, which says CLEAVE_COMPILED to its sources; the one source of that library says
// CLEAVE_COMPILING too. Without it everything is compiled where it is used, to the same code.
#ifdef CLEAVE_COMPILED

#include "cli/fit.hpp"

#ifdef CLEAVE_COMPILING
#define CLEAVE_ONCE
#else
#define CLEAVE_ONCE extern
#endif

namespace cleave::session {

#define CLEAVE_FOR_FORMAT(T)                                                                                     \
  CLEAVE_ONCE template class HostTrainer<T>;                                                                     \
  CLEAVE_ONCE template void save_state(HostTrainer<T>&, std::string const&, std::uint64_t, bool,                 \
                                       Preprocessing const*, io::Metadata const&);                               \
  CLEAVE_ONCE template void load_state(HostTrainer<T>&, std::string const&);                                     \
  CLEAVE_ONCE template int fit_for(HostTrainer<T>&, Job const&, Sets<io::Images> const&, Course const&);         \
  CLEAVE_ONCE template int fit_for(HostTrainer<T>&, Job const&, Sets<io::Samples> const&, Course const&);
CLEAVE_FOR_FORMAT(f32)
CLEAVE_FOR_FORMAT(f64)
CLEAVE_FOR_FORMAT(bf16)
#undef CLEAVE_FOR_FORMAT

}  // namespace cleave::session

#undef CLEAVE_ONCE
#endif
