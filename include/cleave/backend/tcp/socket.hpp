// backend/tcp/socket.hpp - a connection between two processes: every call completes or throws by its deadline.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "../../meta/error.hpp"

namespace cleave::backend::tcp {

using Milliseconds = std::chrono::milliseconds;

/// The time by which a call, or several together, must end. Constructed from a duration, it begins now.
struct Deadline {
  Milliseconds whole;
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::now() + whole;

  template <class Rep, class Period>
  Deadline(std::chrono::duration<Rep, Period> d)  // NOLINT(google-explicit-constructor): a duration is meant as one
      : whole(std::chrono::duration_cast<Milliseconds>(d)) {}
  /// The time left, never below zero.
  Milliseconds left() const {
    auto const d = std::chrono::ceil<Milliseconds>(end - std::chrono::steady_clock::now());
    return std::max(Milliseconds(0), d);
  }
};

/// An address of a process: "host:port", "[::1]:port".
struct Address {
  std::string host;
  int port = 0;

  static Address of(std::string const& text) {
    std::size_t const colon = text.rfind(':');
    int port = 0;
    for (std::size_t i = colon + 1; colon != std::string::npos && i < text.size() && port <= 65535; ++i) {
      if (text[i] < '0' || text[i] > '9') {
        port = 0;
        break;
      }
      port = port * 10 + (text[i] - '0');
    }
    if (colon == std::string::npos || colon == 0 || port < 1 || port > 65535) {
      throw Error({"'", text, "' is no address: say host:port, with a port from 1 to 65535"});
    }
    bool const bracketed = colon > 2 && text[0] == '[' && text[colon - 1] == ']';
    return {bracketed ? text.substr(1, colon - 2) : text.substr(0, colon), port};
  }
  std::string text() const {
    return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
  }
};

/// Whether this machine can resolve that host.
inline bool known(char const* host) {
  addrinfo hints{}, *found = nullptr;
  if (::getaddrinfo(host, nullptr, &hints, &found) != 0) return false;
  ::freeaddrinfo(found);
  return true;
}
/// Whether all addresses of this name are loopback addresses.
inline bool is_loopback(std::string const& host) {
  addrinfo hints{}, *found = nullptr;
  if (host.empty() || ::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  bool all = true;
  for (addrinfo const* a = found; a; a = a->ai_next) {
    if (a->ai_family == AF_INET) {
      auto const& four = *reinterpret_cast<sockaddr_in const*>(a->ai_addr);
      all = all && ntohl(four.sin_addr.s_addr) >> 24 == 127;
    } else {
      auto const& six = *reinterpret_cast<sockaddr_in6 const*>(a->ai_addr);
      all = all && IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
    }
  }
  ::freeaddrinfo(found);
  return all;
}

/// The other side cannot be reached, or does not answer in time.
struct Unreachable : Error {
  using Error::Error;
};
/// The other side has closed the connection.
struct Closed : Unreachable {
  using Unreachable::Unreachable;
};

class Socket {
 public:
  Socket() = default;
  explicit Socket(int handle, std::string peer = {}) : handle_(handle), peer_(std::move(peer)) {}
  Socket(Socket&& o) noexcept : handle_(std::exchange(o.handle_, -1)), peer_(std::move(o.peer_)) {}
  Socket& operator=(Socket&& o) noexcept {
    std::swap(handle_, o.handle_);
    std::swap(peer_, o.peer_);
    return *this;
  }
  ~Socket() {
    if (handle_ >= 0) ::close(handle_);
  }

  /// Listens on the addresses of this host ("*": on all interfaces); port 0 takes a free one.
  static Socket listen_on(int port, std::string const& host = "127.0.0.1") {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    std::string const service = std::to_string(port), name = host == "*" ? "::" : host;
    int const code = ::getaddrinfo(name.c_str(), service.c_str(), &hints, &found);
    Socket s;
    int why = 0;
    for (addrinfo const* a = code == 0 ? found : nullptr; a; a = a->ai_next) {
      s = Socket(::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (s.listens(a->ai_addr, a->ai_addrlen)) break;
      why = errno;
      s = Socket();
    }
    if (code == 0) ::freeaddrinfo(found);
    if (s.valid()) return s;
    if (host == "*" && why != EADDRINUSE && why != EACCES) return listen_on(port, "0.0.0.0");  // without IPv6
    throw Error({"cannot listen on ", Address{host, port}.text(), ": ",
                 (code != 0 ? ::gai_strerror(code) : std::strerror(why))});
  }
  int port() const {
    sockaddr_in6 here{};  // the port has the same offset in both structures
    socklen_t size = sizeof here;
    ::getsockname(handle_, reinterpret_cast<sockaddr*>(&here), &size);
    return ntohs(here.sin6_port);
  }
  /// Waits for the next connection until a time limit; then returns an invalid socket. If the process has no descriptor
  /// or memory left, it waits for the whole time, and the connection stays queued.
  Socket accept(Milliseconds wait) const {
    if (!readable(wait)) return {};
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    int const h = ::accept4(handle_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC);
    if (h < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) std::this_thread::sleep_for(wait);
      return {};
    }
    Socket s(h, text_of(reinterpret_cast<sockaddr const*>(&from), size));
    s.prepare();
    return s;
  }
  /// Retries until the deadline: the other process may not be up yet.
  static Socket connect(Address const& to, Milliseconds deadline) {
    auto const until = std::chrono::steady_clock::now() + deadline;
    for (int why = 0;;) {
      addrinfo hints{}, *found = nullptr;
      hints.ai_socktype = SOCK_STREAM;
      int const code = ::getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &found);
      for (addrinfo* a = code == 0 ? found : nullptr; a; a = a->ai_next) {
        Socket s(::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), to.text());
        if ((why = s.reaches(a->ai_addr, a->ai_addrlen, std::min(deadline, Milliseconds(5000)))) != 0) continue;
        ::freeaddrinfo(found);
        s.prepare();
        return s;
      }
      if (code == 0) ::freeaddrinfo(found);
      if (std::chrono::steady_clock::now() > until) {
        throw Unreachable("no connection to " + to.text() + " within " + std::to_string(deadline.count()) +
                          " ms: " + (code != 0 ? ::gai_strerror(code) : std::strerror(why)) + "; is the server up?");
      }
      std::this_thread::sleep_for(Milliseconds(50));
    }
  }

  bool valid() const { return handle_ >= 0; }
  std::string const& peer() const { return peer_; }
  bool readable(Milliseconds wait) const { return ready(POLLIN, wait); }
  /// Shuts down both directions: another thread that reads or writes here returns with Closed.
  void shut() const { ::shutdown(handle_, SHUT_RDWR); }

  void send(void const* from, std::size_t bytes, Deadline const& by) const {
    auto const* p = static_cast<char const*>(from);
    while (bytes > 0) {
      if (!ready(POLLOUT, by.left())) late("take", bytes, by);
      ssize_t const n = ::send(handle_, p, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (n <= 0) throw Closed(peer_ + " has closed the connection");
      p += n;
      bytes -= static_cast<std::size_t>(n);
    }
  }
  void receive(void* to, std::size_t bytes, Deadline const& by) const {
    auto* p = static_cast<char*>(to);
    while (bytes > 0) {
      if (!ready(POLLIN, by.left())) late("send", bytes, by);
      ssize_t const n = ::recv(handle_, p, bytes, MSG_DONTWAIT);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (n <= 0) throw Closed(peer_ + " has closed the connection");
      p += n;
      bytes -= static_cast<std::size_t>(n);
      if (bytes > 0 && by.left().count() == 0) late("send", bytes, by);
    }
  }

 private:
  /// 0, or an errno. An address that does not answer in time is retried, and so are the host's other addresses.
  int reaches(sockaddr const* there, socklen_t size, Milliseconds wait) const {
    if (::connect(handle_, there, size) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    int why = ETIMEDOUT;
    socklen_t length = sizeof why;
    if (ready(POLLOUT, wait)) ::getsockopt(handle_, SOL_SOCKET, SO_ERROR, &why, &length);
    return why;
  }
  bool listens(sockaddr const* here, socklen_t size) const {
    int const yes = 1, no = 0;
    if (here->sa_family == AF_INET6) ::setsockopt(handle_, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    return ::setsockopt(handle_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 && ::bind(handle_, here, size) == 0 &&
           ::listen(handle_, 128) == 0;
  }
  /// A machine that disappears silently is noticed within a minute.
  void prepare() const {
    int const yes = 1;
    ::setsockopt(handle_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ::setsockopt(handle_, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
#if defined(TCP_KEEPIDLE) && defined(TCP_KEEPINTVL) && defined(TCP_KEEPCNT)
    int const idle = 20, between = 5, probes = 4;
    ::setsockopt(handle_, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    ::setsockopt(handle_, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
    ::setsockopt(handle_, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
#endif
#if defined(TCP_USER_TIMEOUT)
    unsigned const unanswered = 40000;  // ms; there are no probes while sent bytes are not acknowledged
    ::setsockopt(handle_, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered, sizeof unanswered);
#endif
  }
  static std::string text_of(sockaddr const* of, socklen_t size) {
    char host[NI_MAXHOST] = "a client", port[NI_MAXSERV] = "0";
    if (::getnameinfo(of, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
      return host;
    std::string const name = host, four = "::ffff:";  // an IPv4 address in IPv6 notation
    return Address{name.starts_with(four) ? name.substr(four.size()) : name, std::atoi(port)}.text();
  }
  bool ready(short what, Milliseconds wait) const {
    pollfd p{handle_, what, 0};
    int n = 0;
    do {
      n = ::poll(&p, 1, static_cast<int>(wait.count()));
    } while (n < 0 && errno == EINTR);
    return n > 0;
  }
  [[noreturn]] void late(char const* what, std::size_t bytes, Deadline const& by) const {
    throw Unreachable(peer_ + " did not " + what + " " + std::to_string(bytes) + " bytes within " +
                      std::to_string(by.whole.count()) + " ms; it hangs, or the network does");
  }

  int handle_ = -1;
  std::string peer_;
};

}  // namespace cleave::backend::tcp
