// train/checkpoint.hpp - a trainer's whole state as one safetensors file; a loaded trainer continues bit for bit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <charconv>
#include <limits>

#include "../data/preprocessing.hpp"
#include "../io/safetensors.hpp"
#include "../version.hpp"
#include "kept.hpp"
#include "trainer.hpp"

namespace cleave::session {

/// The settings of a plan that its checkpoints name.
template <class = void> [[gnu::cold]] std::string plan_text(Description const& plan) {
  return meta::joined({"batch ", plan.batch, " in ", plan.request.micro_batches, " micro-batches, ",
                       plan.program.mesh.ways(), " ways, ", plan.number, ", ",
                       plan.program.format.ordered ? "ordered" : "fastest", ", ", plan.moments, " moments"});
}
template <class P> std::string plan_text() { return plan_text(description<P>); }
/// Of these, what must be the same in a file and in the program that loads it: the batch, since steps give the position
/// in the data, and the optimizer's tensors. The split, the micro-batches and the number format may differ; then the
/// training goes on, but with other roundings.
inline std::string lasting_settings(std::string const& plan_text) {
  std::size_t const batch = plan_text.find(" in "), moments = plan_text.rfind(", ");
  if (batch == std::string::npos || moments == std::string::npos) return plan_text;
  return plan_text.substr(0, batch) + plan_text.substr(moments);
}

/// Tests the bits, so that it works under any compiler option.
template <class A> constexpr bool is_finite(A value) {
  using Bits = std::conditional_t<sizeof(A) == 8, std::uint64_t, std::uint32_t>;
  constexpr Bits exponent = std::bit_cast<Bits>(std::numeric_limits<A>::infinity());
  return (std::bit_cast<Bits>(value) & exponent) != exponent;
}
/// T: the format of the elements.
template <class T> void check_each(std::string const& name, io::Bytes bytes, std::string const& why) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(T), sizeof(T));
    auto const value = static_cast<tensor::accumulate_t<T>>(stored);
    if (is_finite(value)) continue;
    throw Diverged({"tensor ", name, " is not finite: element ", i, " of ", bytes.size() / sizeof(T), " is ",
                    (value > 0   ? "inf"
                     : value < 0 ? "-inf"
                                 : "nan"),
                    why});
  }
}
/// Throws Diverged, which names tensor, index and value, unless all numbers are finite.
inline void check_finite(std::string const& name, io::NamedTensor const& t, std::string const& why) {
  if (t.dtype == io::Dtype::F64) check_each<double>(name, t.bytes, why);
  if (t.dtype == io::Dtype::F32) check_each<float>(name, t.bytes, why);
  if (t.dtype == io::Dtype::BF16) check_each<bf16>(name, t.bytes, why);
  if (t.dtype == io::Dtype::F16) check_each<f16>(name, t.bytes, why);
}

template <class Trained>
[[gnu::cold]] void save_state(Trained& trainer, std::string const& path, std::uint64_t seed, bool write,
                              Preprocessing const* preprocessing, io::Metadata const& more) {
  using A = typename Trained::A;
  meet(trainer);
  Description const& plan = description_of(trainer);
  std::vector<Kept> const all = kept(plan);
  std::vector<std::vector<A>> data;
  std::vector<io::NamedTensor> tensors;
  for (Kept const& k : all) data.push_back(whole(trainer, k));
  for (std::size_t i = 0; i < all.size(); ++i) {
    tensors.push_back({all[i].name,
                       sizeof(A) == 8 ? io::Dtype::F64 : io::Dtype::F32,
                       extents(all[i].shape),
                       {reinterpret_cast<unsigned char const*>(data[i].data()), data[i].size() * sizeof(A)}});
  }
  std::vector<std::vector<A>> owed;
  if constexpr (requires { trainer.residuals(0); }) {
    bool asked = write;
    if constexpr (requires { Trained::asked_by_all; }) asked = write || Trained::asked_by_all;
    bool const keeps = keeps_residuals_in(plan.program);
    for (int r = 0; keeps && asked && r < trainer.ranks().world(); ++r) {
      std::vector<A> of_rank = trainer.residuals(r);
      if (write) owed.push_back(std::move(of_rank));
    }
  }
  for (std::size_t r = 0; r < owed.size() && !owed[r].empty(); ++r) {
    tensors.push_back({residual_name(static_cast<int>(r)),
                       sizeof(A) == 8 ? io::Dtype::F64 : io::Dtype::F32,
                       {owed[r].size()},
                       {reinterpret_cast<unsigned char const*>(owed[r].data()), owed[r].size() * sizeof(A)}});
  }
  for (io::NamedTensor const& t : tensors) {
    check_finite(t.name, t,
                 meta::joined({" after step ", trainer.steps(), "; training has diverged, and ", path,
                               " is not written; a smaller learning rate or a longer warm-up may help"}));
  }
  if (!write) return meet(trainer);  // another process writes
  io::Metadata about{{"cleave", version},
                     {"plan", plan_text(plan)},
                     {"step", std::to_string(trainer.steps())},
                     {"seed", std::to_string(seed)},
                     {"residuals", residual_layout(plan.program)}};
  about.insert(about.end(), more.begin(), more.end());
  if (preprocessing) add_preprocessing(*preprocessing, tensors, about);
  io::save_safetensors(path, tensors, about);
  meet(trainer);
}

/// Saves the whole state of a trainer. Called by all processes of a run; the one with `write` replaces the file
/// atomically. `preprocessing`, if given, is saved with the weights; `more` is added to the file's metadata. Throws
/// Diverged if a number is not finite, and Error if the file cannot be written; an earlier file is then unchanged.
template <class Trained>
void save(Trained& trainer, std::string const& path, std::uint64_t seed, bool write = true,
          Preprocessing const* preprocessing = nullptr, io::Metadata const& more = {}) {
  save_state(common(trainer), path, seed, write, preprocessing, more);
}

/// The metadata under `key`, a whole number from 0 to `most`; throws Error for anything else.
inline std::uint64_t saved_number(io::SafeTensors const& file, std::string const& path, char const* key,
                                  std::uint64_t most) {
  std::string const* const text = file.find_metadata(key);
  if (!text) throw Error({path, ": not a checkpoint of cleave: its metadata has no ", key});
  std::uint64_t value = 0;
  char const* const last = text->data() + text->size();
  auto const [end, code] = std::from_chars(text->data(), last, value);
  if (code != std::errc() || end != last || value > most) {
    throw Error(
        {path, ": its metadata has the ", key, " ", io::quote(*text), ", which is no whole number from 0 to ", most});
  }
  return value;
}

/// The seed of the run that wrote a checkpoint; a resumed run uses it.
inline std::uint64_t saved_seed(io::SafeTensors const& file, std::string const& path) {
  return saved_number(file, path, "seed", std::numeric_limits<std::uint64_t>::max());
}
template <class = void> std::uint64_t saved_seed(std::string const& path) {
  return saved_seed(io::load_safetensors(path), path);
}

/// The number of steps of a checkpoint. Random numbers count steps in 32 bits, a server in an int.
inline long saved_step(Description const& plan, io::SafeTensors const& file, std::string const& path) {
  return static_cast<long>(saved_number(file, path, "step", plan.program.served ? 2'147'483'647 : 4'294'967'295));
}

/// A valid checkpoint, but of another plan than the program's.
struct OtherPlan : Error {
  using Error::Error;
};

/// Copies a tensor of a checkpoint to `out` (its shape), whatever floating format it was saved in. Throws Error if it
/// is missing, has another shape, or holds a number that is not finite.
template <class A> void read_tensor(io::SafeTensors const& file, std::string const& path, Kept const& k, A* out) {
  io::NamedTensor const* const t = file.find(k.name);
  if (!t) throw Error({path, ": has no tensor ", k.name, ", which this model needs"});
  if (t->shape != extents(k.shape)) {
    auto const text = [](std::vector<std::size_t> const& shape) {
      std::string s;
      for (std::size_t n : shape) s += (s.empty() ? "" : " x ") + std::to_string(n);
      return s;
    };
    throw Error({path, ": tensor ", k.name, " is ", text(t->shape), ", this model's is ", text(extents(k.shape))});
  }
  auto const copy = [&]<class From>(meta::type<From>) {
    for (long i = 0; i < k.shape.size(); ++i) {
      From value;
      std::memcpy(&value, t->bytes.data() + static_cast<std::size_t>(i) * sizeof value, sizeof value);
      out[i] = static_cast<A>(static_cast<tensor::accumulate_t<From>>(value));
    }
  };
  check_finite(k.name + " of " + path, *t, "; it was saved after training had diverged");
  switch (t->dtype) {
    case io::Dtype::F32:
      return copy(meta::type<float>{});
    case io::Dtype::F64:
      return copy(meta::type<double>{});
    case io::Dtype::BF16:
      return copy(meta::type<bf16>{});
    case io::Dtype::F16:
      return copy(meta::type<f16>{});
    default:
      throw Error({path, ": tensor ", k.name, " has whole numbers, not floating-point ones",
                   t->dtype == io::Dtype::I8 ? "; Predictor<Net, int8> reads weights of 8 bits" : ""});
  }
}

/// Reads a checkpoint and checks all of it against a plan, except residuals, which depend on the ranks. Throws Error.
template <class = void>
[[gnu::cold]] io::SafeTensors read_checkpoint(Description const& plan, std::string const& path) {
  io::SafeTensors file = io::load_safetensors(path);
  std::string const* const text = file.find_metadata("plan");
  if (!text) throw Error({path, ": not a checkpoint of cleave: its metadata has no plan"});
  saved_step(plan, file, path);
  saved_seed(file, path);
  std::string const own = plan_text(plan);
  if (lasting_settings(*text) != lasting_settings(own))
    throw OtherPlan({path, ": saved under another plan (", *text, "); this one is ", own});
  auto const width = static_cast<std::size_t>(plan.program.format.sum);
  for (Kept const& k : kept(plan)) {
    io::NamedTensor const* t = file.find(k.name);
    if (!t) throw OtherPlan({path, ": has no tensor ", k.name, ", which this model needs"});
    if (t->shape != extents(k.shape) || t->bytes.size() != static_cast<std::size_t>(k.shape.size()) * width) {
      throw OtherPlan({path, ": tensor ", k.name, " has another shape or number format than this model's"});
    }
    check_finite(k.name + " of " + path, *t, "; it was saved after training had diverged");
  }
  return file;
}

template <class Trained> [[gnu::cold]] void load_state(Trained& trainer, std::string const& path) {
  using A = typename Trained::A;
  Description const& plan = description_of(trainer);
  io::SafeTensors const file = read_checkpoint(plan, path);
  std::uint64_t const seed = saved_seed(file, path);
  if constexpr (requires { trainer.seed(); }) {  // has passed its seed on
    if (plan.draws && trainer.seed() != seed) {
      throw Error({path, ": trained with seed ", seed, ", this trainer was made with ", trainer.seed(),
                   "; make it with session::saved_seed(path)"});
    }
  }
  if constexpr (requires { trainer.residuals(0); }) {
    if (keeps_residuals_in(plan.program)) {
      auto const owed = saved_residuals<A>(plan.program, file, path, trainer.ranks());
      for (int r = 0; r < trainer.ranks().world(); ++r) trainer.set_residuals(r, owed[static_cast<std::size_t>(r)]);
    }
  }
  for (Kept const& k : kept(plan)) {
    std::vector<A> values(static_cast<std::size_t>(k.shape.size()));
    std::memcpy(values.data(), file.find(k.name)->bytes.data(), values.size() * sizeof(A));
    write_whole(trainer, k, values.data());
  }
  trainer.refresh_copies();
  trainer.set_steps(saved_step(plan, file, path));
  if constexpr (requires { trainer.set_seed(seed); }) trainer.set_seed(seed);
  meet(trainer);
}
/// Loads a checkpoint into every rank, and sets the seed to that of the file. Nothing is changed unless the whole file
/// is valid and fits the plan.
template <class Trained> void load(Trained& trainer, std::string const& path) { load_state(common(trainer), path); }

}  // namespace cleave::session

namespace cleave {

template <class P, class Self> void session::SampleTraining<P, Self>::save(std::string const& path) {
  session::save(self(), path, seed_, writes_files(), &preprocessing_);
}
template <class P, class Self> void session::SampleTraining<P, Self>::load(std::string const& path) {
  session::Preprocessing saved = session::saved_preprocessing(path).value_or(session::Preprocessing{});
  std::uint64_t const seed = session::saved_seed(path);
  session::load(self(), path);
  seed_ = seed;
  preprocessing_ = std::move(saved);
}

template <class P, class Self>
session::FitProgress session::SampleTraining<P, Self>::progress_of(FitOptions const& how) {
  if (how.checkpoint.empty() || !io::exists(how.checkpoint)) return {};
  io::SafeTensors const file = io::load_safetensors(how.checkpoint);
  std::string const* const text = file.find_metadata("fit");
  if (!text)
    throw Error({how.checkpoint,
                 ": was not saved by fit, which would replace it; say another .checkpoint, or begin "
                 "with trainer.load"});
  FitProgress out = FitProgress::of(*text, how.checkpoint);
  load(how.checkpoint);
  return out;
}
template <class P, class Self> session::FitFiles session::SampleTraining<P, Self>::files_of(FitOptions const& how) {
  FitFiles out;
  if (how.checkpoint.empty()) return out;
  out.last = how.checkpoint;
  out.best = best_beside(how.checkpoint);
  out.save = [this](std::string const& path, FitProgress const& at) {
    session::save(self(), path, seed_, writes_files(), &preprocessing_, {{"fit", at.text()}});
  };
  out.load = [this](std::string const& path) { load(path); };
  return out;
}

}  // namespace cleave
