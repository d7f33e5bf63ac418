// backend/tcp/socket.hpp - a connection between two processes: every call ends with its bytes or an error by its deadline.
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
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "../../meta/error.hpp"

namespace cleave::backend::tcp {

using Milliseconds = std::chrono::milliseconds;

/// Where a process listens: "host:port", "[::1]:port".
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
      throw Error("'" + text + "' is no address: say host:port, with a port from 1 to 65535");
    }
    bool const bracketed = colon > 2 && text[0] == '[' && text[colon - 1] == ']';
    return {bracketed ? text.substr(1, colon - 2) : text.substr(0, colon), port};
  }
  std::string text() const {
    return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
  }
};

/// Does this machine know where that host is?
inline bool known(char const* host) {
  addrinfo hints{}, *found = nullptr;
  if (::getaddrinfo(host, nullptr, &hints, &found) != 0) return false;
  ::freeaddrinfo(found);
  return true;
}

/// The other side has ended the connection.
struct Closed : Error {
  using Error::Error;
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

  /// Listens on all interfaces; port 0 takes a free one.
  static Socket listen_on(int port) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<std::uint16_t>(port));
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = six.sin6_port;
    int const no = 0;
    Socket s(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::setsockopt(s.handle_, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (s.listens(reinterpret_cast<sockaddr const*>(&six), sizeof six)) return s;
    if (errno != EADDRINUSE && errno != EACCES) {  // a machine without IPv6
      s = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (s.listens(reinterpret_cast<sockaddr const*>(&four), sizeof four)) return s;
    }
    throw Error("cannot listen on port " + std::to_string(port) + ": " + std::strerror(errno));
  }
  int port() const {
    sockaddr_in6 here{};  // the port lies where it does in the smaller one
    socklen_t size = sizeof here;
    ::getsockname(handle_, reinterpret_cast<sockaddr*>(&here), &size);
    return ntohs(here.sin6_port);
  }
  /// Waits at most so long for the next connection; without one, an invalid socket.
  Socket accept(Milliseconds wait) const {
    if (!readable(wait)) return {};
    int const h = ::accept4(handle_, nullptr, nullptr, SOCK_CLOEXEC);
    if (h < 0) return {};
    Socket s(h, "a client");
    s.prepare();
    return s;
  }
  /// Tries again until the deadline: the other process may not be up yet.
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
        throw Error("no connection to " + to.text() + " within " + std::to_string(deadline.count()) +
                    " ms: " + (code != 0 ? ::gai_strerror(code) : std::strerror(why)) + "; is the server up?");
      }
      std::this_thread::sleep_for(Milliseconds(50));
    }
  }

  bool valid() const { return handle_ >= 0; }
  std::string const& peer() const { return peer_; }
  bool readable(Milliseconds wait) const { return ready(POLLIN, wait); }
  /// Ends both directions: whoever reads or writes here, in another thread, returns with Closed.
  void shut() const { ::shutdown(handle_, SHUT_RDWR); }

  void send(void const* from, std::size_t bytes, Milliseconds deadline) const {
    auto const* p = static_cast<char const*>(from);
    while (bytes > 0) {
      if (!ready(POLLOUT, deadline)) late("take", bytes, deadline);
      ssize_t const n = ::send(handle_, p, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (n <= 0) throw Closed(peer_ + " has closed the connection");
      p += n;
      bytes -= static_cast<std::size_t>(n);
    }
  }
  void receive(void* to, std::size_t bytes, Milliseconds deadline) const {
    auto* p = static_cast<char*>(to);
    while (bytes > 0) {
      if (!ready(POLLIN, deadline)) late("send", bytes, deadline);
      ssize_t const n = ::recv(handle_, p, bytes, MSG_DONTWAIT);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (n <= 0) throw Closed(peer_ + " has closed the connection");
      p += n;
      bytes -= static_cast<std::size_t>(n);
    }
  }

 private:
  /// 0, or why not. What does not answer in time is tried again, and so are the host's other addresses.
  int reaches(sockaddr const* there, socklen_t size, Milliseconds wait) const {
    if (::connect(handle_, there, size) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    int why = ETIMEDOUT;
    socklen_t length = sizeof why;
    if (ready(POLLOUT, wait)) ::getsockopt(handle_, SOL_SOCKET, SO_ERROR, &why, &length);
    return why;
  }
  bool listens(sockaddr const* here, socklen_t size) const {
    int const yes = 1;
    return ::setsockopt(handle_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 && ::bind(handle_, here, size) == 0 &&
           ::listen(handle_, 128) == 0;
  }
  void prepare() const {
    int const yes = 1;
    ::setsockopt(handle_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }
  bool ready(short what, Milliseconds wait) const {
    pollfd p{handle_, what, 0};
    int n = 0;
    do {
      n = ::poll(&p, 1, static_cast<int>(wait.count()));
    } while (n < 0 && errno == EINTR);
    return n > 0;
  }
  [[noreturn]] void late(char const* what, std::size_t bytes, Milliseconds deadline) const {
    throw Error(peer_ + " did not " + what + " " + std::to_string(bytes) + " bytes within " +
                std::to_string(deadline.count()) + " ms; it hangs, or the network does");
  }

  int handle_ = -1;
  std::string peer_;
};

}  // namespace cleave::backend::tcp
