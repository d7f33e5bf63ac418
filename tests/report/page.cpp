// report/page.cpp - a page that holds its run, whatever texts that has.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/json_line.hpp>
#include <cleave/report/page.hpp>

#include "../io/scratch.hpp"

using namespace cleave;

TEST_CASE("the page is one file around the run; no text of the run ends its script") {
  scratch::Folder const folder;
  std::string const path = folder / "report.html";
  session::write_page(path, io::JsonLine().add("title", "</script><b>").add("plan", "a</b").text());
  auto const bytes = io::read_file(path);
  std::string_view const page(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.ends_with("</html>\n"));
  CHECK(page.find(R"({"title":"\u003c/script>\u003cb>","plan":"a\u003c/b"})") != page.npos);
  std::size_t ends = 0;
  for (std::size_t at = 0; (at = page.find("</script", at)) != page.npos; ++at) ++ends;
  CHECK(ends == 1);
  for (std::string_view const other : {"src=", "href=", "http://", "https://"}) {
    std::size_t at = page.find(other);
    if (at != page.npos) at = page.substr(at).starts_with("http://www.w3.org/2000/svg") ? page.find(other, at + 1) : at;
    CHECK_MESSAGE(at == page.npos, other);
  }
}
TEST_CASE("a page that cannot be written is an Error that names it") {
  CHECK_THROWS_WITH_AS(session::write_page("/nowhere/report.html", "{}"), doctest::Contains("/nowhere/report.html"),
                       Error);
}
