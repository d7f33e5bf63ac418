// parameter_server/server_file.hpp - a container of a parameter server as a safetensors file, and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <numeric>

#include "../io/safetensors.hpp"
#include "container.hpp"
#include "door.hpp"

namespace cleave::session {

inline std::string shards_text(Serving const& of) {
  return plan_text(*of.plan) + ", " + std::to_string(of.shards()) + " shards";
}

/// Saves what a container holds, if that has changed: weights, the optimizer's tensors, versions, and what each replica
/// has done. Throws Error, the old file as it was, if a weight is not finite or the file cannot be written.
template <class F>
bool save_container(Service<F> const& plan, Container<F>& c, std::string const& name, ServerOf const& of,
                    std::string const& path) {
  using A = typename F::A;
  int const moments = plan.plan->moments;
  std::vector<std::pair<std::string, std::vector<A>>> values;
  std::vector<std::int64_t> versions, done;
  {  // before the weights: a step may be repeated after a crash, but none is left out
    std::lock_guard lock(c.mutex);
    if (c.worthless) return false;
    done.assign(c.done.begin(), c.done.end());
  }
  for (int s = of.part; s < plan.shards(); s += of.parts) {
    c.server.look(s, [&](auto& shard) {
      std::string const which = "shard" + std::to_string(s);
      values.emplace_back(which + ".weights", std::vector<A>(shard.weights(), shard.weights() + shard.count()));
      if (moments > 0) {
        values.emplace_back(which + ".moments",
                            std::vector<A>(shard.moments(), shard.moments() + shard.count() * moments));
      }
      versions.push_back(shard.version());
    });
  }
  std::int64_t const updates = std::accumulate(versions.begin(), versions.end(), std::int64_t{0});
  if (updates == c.saved) return false;
  std::vector<io::NamedTensor> tensors;
  for (auto const& [what, v] : values) {
    if (!std::all_of(v.begin(), v.end(), [](A x) { return std::isfinite(x); })) {
      throw Error({"container ", name, " is not saved: ", what, " holds a number that is not finite; ", path,
                   " stays as it was"});
    }
    tensors.push_back({what,
                       sizeof(A) == 8 ? io::Dtype::F64 : io::Dtype::F32,
                       {v.size()},
                       {reinterpret_cast<unsigned char const*>(v.data()), v.size() * sizeof(A)}});
  }
  auto const numbers = [&](char const* what, std::vector<std::int64_t> const& v) {
    tensors.push_back(
        {what, io::Dtype::I64, {v.size()}, {reinterpret_cast<unsigned char const*>(v.data()), v.size() * 8}});
  };
  numbers("versions", versions);
  numbers("done", done);
  io::save_safetensors(path, tensors,
                       {{"cleave", version},
                        {"server", of.text()},
                        {"container", name},
                        {"plan", shards_text(plan)},
                        {"seed", std::to_string(of.seed)}});
  c.saved = updates;
  return true;
}

/// A container as it was saved, and its name. Throws Error if the file is not sound, or another server's.
template <class F>
std::pair<std::string, std::unique_ptr<Container<F>>> load_container(Service<F> const& plan, std::string const& path,
                                                                     ServerOf const& of, Replica<F>& start) {
  int const moments = plan.plan->moments;
  io::SafeTensors const file = io::load_safetensors(path);
  auto const said = [&](char const* key) {
    std::string const* text = file.find_metadata(key);
    if (!text) throw Error({path, ": not a file of a parameter server: its metadata has no ", key});
    return *text;
  };
  std::string const name = said("container");
  check_container_name(name);
  if (said("server") != of.text()) throw Error({path, ": saved by ", said("server"), "; this server is ", of.text()});
  if (said("plan") != shards_text(plan))
    throw Error({path, ": saved under another plan (", said("plan"), "); this one is ", shards_text(plan)});
  // The data's order follows from the seed; files of earlier releases do not have it.
  if (std::string const* seed = file.find_metadata("seed"); of.one_run && seed && *seed != std::to_string(of.seed)) {
    throw Error({path, ": saved by a run with --seed ", *seed, "; this one has --seed ", of.seed});
  }
  auto const read = [&](std::string const& what, auto* to, std::size_t count) {
    io::NamedTensor const* t = file.find(what);
    if (!t || t->bytes.size() != count * sizeof *to)
      throw Error({path, ": tensor ", what, " is missing, or has another size than this plan's"});
    std::memcpy(to, t->bytes.data(), t->bytes.size());
  };
  auto const numbers = [&](char const* what, std::size_t count) {
    std::vector<std::int64_t> v(count);
    read(what, v.data(), count);
    for (std::int64_t const n : v) {
      if (n < 0 || n > 2'000'000'000) throw Error({path, ": ", what, " holds ", n, ", which is no count"});
    }
    return v;
  };
  auto c = std::make_unique<Container<F>>(plan, of.replicas, start);
  std::vector<std::int64_t> const done = numbers("done", c->done.size());
  std::copy(done.begin(), done.end(), c->done.begin());
  std::size_t const here = static_cast<std::size_t>((plan.shards() - of.part + of.parts - 1) / of.parts);
  std::vector<std::int64_t> const versions = numbers("versions", here);
  for (int s = of.part, k = 0; s < plan.shards(); s += of.parts, ++k) {
    c->server.look(s, [&](auto& shard) {
      std::string const which = "shard" + std::to_string(s);
      std::size_t const count = static_cast<std::size_t>(shard.count());
      read(which + ".weights", shard.weights(), count);
      if (moments > 0) read(which + ".moments", shard.moments(), count * static_cast<std::size_t>(moments));
      shard.refresh_copies();
      shard.set_version(static_cast<int>(versions[static_cast<std::size_t>(k)]));
    });
  }
  c->saved = std::accumulate(versions.begin(), versions.end(), std::int64_t{0});
  return {name, std::move(c)};
}

}  // namespace cleave::session
