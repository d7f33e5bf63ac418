// parameter_server/server_of_containers.hpp - named containers of weights that are kept, loaded, saved and served, for any plan of the formats.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <dirent.h>

#include "conversation.hpp"
#include "server_file.hpp"

namespace cleave::session {

/// The base of `ParameterServer<P>` (parameter_server.hpp), the same code for all plans of the same formats. Members
/// that are not defined here are in server_guests.hpp; include parameter_server.hpp.
///
/// Part i of n of a server: it answers for shards i, i + n, i + 2n, ... Containers of different names share nothing; a
/// container lives as long as the process, and longer where `keep` says where to save it, so that a client that comes
/// after the others can read what they left. Nothing that a client sends is used before it has been checked.
template <class F> class ParameterServerOf {
 public:
  ParameterServerOf(Service<F> const& plan, int port, int replicas, std::uint64_t seed, int part, int parts,
                    backend::tcp::Milliseconds deadline, Door door);
  ~ParameterServerOf();

  int port() const { return listening_.port(); }
  void stop() { over_ = true; }

  /// Its clients make one run together: a replica that comes again goes on behind what it has done, also where that was
  /// all of its part. Before `load` and `serve`.
  void serve_one_run() { of_.one_run = true; }

  /// While held, a server does not end because it has no clients.
  void hold(bool held) { held_ = held; }
  /// From now on nothing is saved: what the server holds is worth less than what is on disk.
  void save_no_more() { saves_ = false; }

  /// Tells all connected replicas to stop, and why, within a second.
  void stop_replicas(std::string const& why);

  /// Saves every container to a file of its own in this folder, every so often while it changes (0: not before the end)
  /// and at the end. If shards in step are in several parts, the first part says when: all save the same update.
  void keep(std::string folder, std::chrono::milliseconds every = std::chrono::minutes(10));
  /// Goes on with a container as it was saved; returns its name. Before `serve`.
  std::string load(std::string const& path);
  /// Saves what has changed, from any thread. False if something could not be saved; it says what and why.
  bool save();
  /// How many updates a container has had, over all of its shards here; 0 where there is none of this name.
  std::int64_t updates(std::string const& name);
  /// How many replicas are connected.
  int replicas();
  /// Whether a replica is connected or still to come.
  bool trains() { return replicas() > 0 || !all_have_come(); }
  /// Where a container of this name is saved in a folder.
  std::string file_of(std::string const& name, std::string const& folder) const {
    return folder + "/" + name + ending();
  }

  /// The files of this part's containers in a folder.
  std::vector<std::string> saved_in(std::string const& folder) const;

  /// Until stopped, or `end` says so, or nobody has been there for so long (0: for ever) after the first client; in one
  /// run, replicas that have not come yet have the deadline to come. False if what it held then could not be saved.
  bool serve(backend::tcp::Milliseconds linger = {}, std::function<bool()> const& end = {});

 private:
  using Container = session::Container<F>;

  std::string ending() const { return ".server" + std::to_string(of_.part) + ".safetensors"; }

  /// Takes the next connection, if one comes in time and there is room: else it waits before the door.
  bool let_in(backend::tcp::Milliseconds wait);
  template <class Which> int count(Which which) {
    std::lock_guard lock(guests_);
    return static_cast<int>(
        std::count_if(guest_.begin(), guest_.end(), [&](auto const& g) { return !g->gone && which(*g); }));
  }
  bool all_have_come();
  /// Shards in step are in several parts of the server.
  bool in_parts() const { return plan_.in_step() && of_.parts > 1; }
  /// The next update of each container is one that all parts save.
  void save_next();
  /// Saves the updates that all parts save.
  void save_updates();
  /// save(container, name, path) for each container; as `save`.
  template <class Save> bool save_each(Save save);
  /// visit(name, container), under no lock.
  template <class Visit> void each_container(Visit visit);
  /// Forgets the connections that have ended; returns how many are left.
  std::size_t clear();
  void send_away();
  void tell(std::string const& what);
  static backend::tcp::Refusal no_room(std::exception const& e) {
    return backend::tcp::Refusal(std::string("the server has no room for another connection now: ") + e.what(), true);
  }
  void turn_away(Guest& g, backend::tcp::Refusal const& why);

  Container& container(std::string const& name);

  void welcome(Guest& g);

  Service<F> const& plan_;
  backend::tcp::Socket listening_;
  Door door_;
  ServerOf of_;
  backend::tcp::Milliseconds deadline_;
  Replica<F> start_;  // the weights that a container begins with
  std::atomic<bool> over_{false}, held_{false}, saves_{true};
  std::mutex guests_;
  std::vector<std::unique_ptr<Guest>> guest_;
  std::map<std::string, std::unique_ptr<Container>> container_;
  std::string folder_;  // empty: nothing is saved
  std::chrono::milliseconds every_{};
  std::chrono::steady_clock::time_point saves_again_{};  // what could not be saved
  std::mutex saying_, saving_;
  std::atomic<int> refused_{0};
};

template <class F>
ParameterServerOf<F>::ParameterServerOf(Service<F> const& plan, int port, int replicas, std::uint64_t seed, int part,
                                        int parts, backend::tcp::Milliseconds deadline, Door door)
    : plan_(plan),
      listening_(open_door(door, port)),
      door_(std::move(door)),
      of_{replicas, part, parts, seed},
      deadline_(deadline),
      start_(plan, (plan.parts(replicas), 1), 0, seed) {
  if (parts > plan_.shards()) {
    throw Error(
        {"a server of ", parts, " parts for ", plan_.shards(), " shards; say Shards<", parts, ">, or fewer parts"});
  }
}
template <class F> ParameterServerOf<F>::~ParameterServerOf() {
  stop();
  send_away();
}
template <class F> void ParameterServerOf<F>::stop_replicas(std::string const& why) {
  backend::tcp::Deadline const by(std::min(deadline_, backend::tcp::Milliseconds(1000)));
  std::lock_guard lock(guests_);
  for (auto& g : guest_) {
    if (g->gone || !g->admitted || g->replica < 0) continue;
    std::unique_lock one_frame(g->writing, std::defer_lock);
    while (!one_frame.try_lock() && by.left().count() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (!one_frame) continue;  // it takes nothing: it will find its connection closed
    try {
      backend::tcp::stop(g->socket, why, std::max(by.left(), backend::tcp::Milliseconds(1)));
    } catch (Error const&) {  // it has gone
    }
  }
}
template <class F> void ParameterServerOf<F>::keep(std::string folder, std::chrono::milliseconds every) {
  io::make_folder(folder);
  folder_ = std::move(folder);
  every_ = every;
}
template <class F> std::string ParameterServerOf<F>::load(std::string const& path) {
  auto [name, c] = load_container(plan_, path, of_, start_);
  container_[name] = std::move(c);
  tell("container " + name + " goes on from " + path);
  return name;
}
template <class F> template <class Save> bool ParameterServerOf<F>::save_each(Save save) {
  std::lock_guard one_by_one(saving_);
  bool good = true;
  each_container([&](std::string const& name, Container& c) {
    try {
      std::string const path = file_of(name, folder_);
      if (save(c, name, path)) tell("saved container " + name + " to " + path);
    } catch (std::exception const& e) {
      tell(e.what());
      good = false;
    }
  });
  return good;
}
template <class F> bool ParameterServerOf<F>::save() {
  return save_each([&](Container& c, std::string const& name, std::string const& path) {
    return save_container(plan_, c, name, of_, path);
  });
}
template <class F> template <class Visit> void ParameterServerOf<F>::each_container(Visit visit) {
  std::vector<std::pair<std::string, Container*>> all;
  {
    std::lock_guard lock(guests_);
    for (auto& [name, c] : container_) all.emplace_back(name, c.get());
  }
  for (auto& [name, c] : all) visit(name, *c);
}
template <class F> void ParameterServerOf<F>::save_next() {
  if (of_.part != 0) return;
  // One at a time: the newest two files of a part hold what the newest of each other part does.
  each_container([](std::string const&, Container& c) {
    if (!c.server.has_to_save() && c.in_other_files >= c.update_in_file) c.server.save_next();
  });
}
template <class F> void ParameterServerOf<F>::save_updates() {
  auto const now = std::chrono::steady_clock::now();
  if (now < saves_again_) return;
  bool const good = save_each([&](Container& c, std::string const& name, std::string const& path) {
    return save_update(plan_, c, name, of_, path);
  });
  if (!good) saves_again_ = now + std::chrono::seconds(10);
}
template <class F> std::int64_t ParameterServerOf<F>::updates(std::string const& name) {
  Container* c = nullptr;
  {
    std::lock_guard lock(guests_);
    auto const at = container_.find(name);
    if (at == container_.end()) return 0;
    c = at->second.get();
  }
  std::int64_t all = 0;
  for (int s = of_.part; s < plan_.shards(); s += of_.parts)
    c->server.look(s, [&](auto& shard) { all += shard.version(); });
  return all;
}
template <class F> std::vector<std::string> ParameterServerOf<F>::saved_in(std::string const& folder) const {
  std::vector<std::string> all;
  DIR* const list = ::opendir(folder.c_str());
  if (!list) return all;
  while (dirent const* const entry = ::readdir(list)) {
    std::string const name = entry->d_name;
    if (name.ends_with(ending())) all.push_back(folder + (folder.ends_with('/') ? "" : "/") + name);
  }
  ::closedir(list);
  std::sort(all.begin(), all.end());
  return all;
}
template <class F>
bool ParameterServerOf<F>::serve(backend::tcp::Milliseconds linger, std::function<bool()> const& end) {
  auto last = std::chrono::steady_clock::now(), saved = last;
  bool any = false;
  while (!over_ && !(end && end())) {
    any = let_in(backend::tcp::Milliseconds(50)) || any;
    auto const now = std::chrono::steady_clock::now();
    if (clear() > 0 || held_) last = now;
    if (!folder_.empty() && every_.count() > 0 && now - saved > every_) {
      in_parts() ? save_next() : void(save());
      saved = std::chrono::steady_clock::now();
    }
    if (!folder_.empty() && in_parts()) save_updates();
    if (!any || linger.count() == 0 || now - last <= linger) continue;
    if (!of_.one_run || all_have_come() || now - last > deadline_) break;
  }
  stop();
  send_away();
  return folder_.empty() || !saves_ || save();
}

}  // namespace cleave::session
