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

/// The parts of a server whose shards are in step save what they hold after the same update, and keep the file before
/// as NAME.serverI.previous.safetensors: a part may be killed before it has saved, and all go on from the same update.
inline std::string previous_of(std::string const& path) {
  std::string const ending = ".safetensors";
  return path.substr(0, path.size() - ending.size()) + ".previous" + ending;
}

/// What a part of a server saves.
template <class A> struct SavedShards {
  std::vector<std::pair<std::string, std::vector<A>>> values;
  std::vector<std::int64_t> versions;  // of each shard
  // Of shards in step in several parts: the first one's newest update, and the lives whose pushes the others keep.
  std::vector<unsigned char> decided;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> lives;

  void add(int s, ShardState<A> held) {
    std::string const which = "shard" + std::to_string(s);
    values.emplace_back(which + ".weights", std::move(held.weights));
    if (!held.moments.empty()) values.emplace_back(which + ".moments", std::move(held.moments));
    versions.push_back(held.version);
  }
};

/// Writes the file; false if nothing has changed, or what is held is not to be saved (`done` is empty). Throws Error,
/// the old file as it was, if a number is not finite or the file cannot be written.
template <class F>
bool write_container(Service<F> const& plan, Container<F>& c, std::string const& name, ServerOf const& of,
                     std::string const& path, SavedShards<typename F::A> const& all,
                     std::vector<std::int64_t> const& done) {
  using A = typename F::A;
  std::int64_t const updates = std::accumulate(all.versions.begin(), all.versions.end(), std::int64_t{0});
  if (done.empty() || (updates == c.saved && all.decided.empty() && all.lives.empty())) return false;
  std::vector<io::NamedTensor> tensors;
  for (auto const& [what, v] : all.values) {
    if (!std::all_of(v.begin(), v.end(), [](A x) { return std::isfinite(x); })) {
      throw Error({"container ", name, " is not saved: ", what, " holds a number that is not finite; ", path,
                   " stays as it was"});
    }
    tensors.push_back({what,
                       sizeof(A) == 8 ? io::Dtype::F64 : io::Dtype::F32,
                       {v.size()},
                       {reinterpret_cast<unsigned char const*>(v.data()), v.size() * sizeof(A)}});
  }
  auto const numbers = [&](std::string const& what, std::vector<std::int64_t> const& v) {
    tensors.push_back(
        {what, io::Dtype::I64, {v.size()}, {reinterpret_cast<unsigned char const*>(v.data()), v.size() * 8}});
  };
  numbers("versions", all.versions);
  numbers("done", done);
  for (auto const& [what, v] : all.lives) numbers(what, v);
  if (!all.decided.empty()) tensors.push_back({"decided", io::Dtype::U8, {all.decided.size()}, all.decided});
  bool const in_parts = plan.in_step() && of.parts > 1;
  if (in_parts && updates != c.saved && io::exists(path)) io::second_name(path, previous_of(path));
  io::save_safetensors(path, tensors,
                       {{"cleave", version},
                        {"server", of.text()},
                        {"container", name},
                        {"plan", shards_text(plan)},
                        {"seed", std::to_string(of.seed)}});
  c.saved = updates;
  c.update_in_file = static_cast<int>(all.versions.front());
  return true;
}

/// Saves what a container holds: weights, the optimizer's tensors, versions, and what each replica has done. Returns
/// and throws as above.
template <class F>
bool save_container(Service<F> const& plan, Container<F>& c, std::string const& name, ServerOf const& of,
                    std::string const& path) {
  using A = typename F::A;
  SavedShards<A> all;
  std::vector<std::int64_t> const done = c.all_done();
  c.server.look_at_all(of.part, of.parts, [&](int s, auto& shard) {
    all.add(s, c.server.held(s));
    if (!plan.in_step() || of.parts == 1) return;
    std::string const which = "shard" + std::to_string(s);
    if (s == 0) return append(all.decided, c.server.decided_here(), of.replicas);
    std::vector<std::int64_t> lives(static_cast<std::size_t>(of.replicas));
    shard.each_kept([&](int worker, int life, auto const* push) {
      lives[static_cast<std::size_t>(worker)] = life;
      auto& kept = all.values.emplace_back(which + ".kept" + std::to_string(worker), std::vector<A>()).second;
      for (long i = 0; i < shard.count(); ++i) kept.push_back(static_cast<A>(push[i]));
    });
    all.lives.emplace_back(which + ".lives", std::move(lives));
  });
  return write_container(plan, c, name, of, path, all, done);
}
/// What a container held after an update that all parts of its server save, if it has made it in all shards here.
template <class F>
bool save_update(Service<F> const& plan, Container<F>& c, std::string const& name, ServerOf const& of,
                 std::string const& path) {
  SavedShards<typename F::A> all;
  int s = of.part;
  for (auto& held : c.server.to_save(of.part, of.parts)) all.add(std::exchange(s, s + of.parts), std::move(held));
  if (all.versions.empty()) return false;
  bool const wrote = write_container(plan, c, name, of, path, all, c.all_done());
  c.server.have_saved(static_cast<int>(all.versions.front()));
  return wrote;
}
/// A container as it was saved, and its name. Throws Error if the file is not sound, or another server's.
template <class F>
std::pair<std::string, std::unique_ptr<Container<F>>> load_container(Service<F> const& plan, std::string const& path,
                                                                     ServerOf const& of, Replica<F>& start) {
  using A = typename F::A;
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
  auto const numbers = [&](std::string const& what, std::size_t count) {
    std::vector<std::int64_t> v(count);
    read(what, v.data(), count);
    for (std::int64_t const n : v) {
      if (n < 0 || n > most_count) throw Error({path, ": ", what, " holds ", n, ", which is no count"});
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
      if (!file.find(which + ".lives")) return;  // it keeps no pushes
      std::vector<std::int64_t> const lives = numbers(which + ".lives", static_cast<std::size_t>(of.replicas));
      for (int r = 0; r < of.replicas; ++r) {
        int const life = static_cast<int>(lives[static_cast<std::size_t>(r)]);
        if (life == 0) continue;  // it has pushed nothing yet
        std::vector<A> push(count);
        read(which + ".kept" + std::to_string(r), push.data(), count);
        std::vector<typename F::Sent> sent;
        for (A const v : push) sent.push_back(static_cast<typename F::Sent>(v));
        shard.keep(r, life, sent.data());
      }
    });
  }
  if (io::NamedTensor const* const decided = file.find("decided")) {
    try {
      c->server.set_decided(
          read_decided({decided->bytes.begin(), decided->bytes.end()}, of.replicas, c->server.parts()));
    } catch (backend::tcp::Refusal const& e) {
      throw Error({path, ": holds ", e.what()});
    }
  }
  c->update_in_file = static_cast<int>(versions.front());
  c->saved = std::accumulate(versions.begin(), versions.end(), std::int64_t{0});
  return {name, std::move(c)};
}

}  // namespace cleave::session
