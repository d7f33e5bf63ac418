// io/arguments.hpp - a program's command line: typed options with defaults, help, and one-line errors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <charconv>
#include <cleave/io/json_line.hpp>
#include <cleave/io/parse_double.hpp>
#include <cleave/meta/error.hpp>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cleave::io {

/// Edit distance of two words: letters to change, add or drop.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t const change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({change, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row[b.size()];
}

/// The options of one program. Each is declared once and returns a reference that holds the default and, after `parse`,
/// the user's value:
///
///     io::Options options("01_mnist_mlp", "Trains a perceptron on MNIST.");
///     int const& epochs = options.number("epochs", 3, 1, 1000000, "passes over the data");
///     if (!options.parse(argc, argv)) return 0;
///
/// The references live as long as the Options.
class Options {
 public:
  Options(std::string program, std::string purpose) : program_(std::move(program)), purpose_(std::move(purpose)) {}
  Options(Options const&) = delete;
  Options& operator=(Options const&) = delete;

  /// A whole number from `low` to `high`.
  int const& number(std::string name, int standard, int low, int high, std::string help) {
    Option& option = add(Kind::Number, std::move(name), std::move(help), std::to_string(standard));
    option.low = low;
    option.high = high;
    return option.number = standard;
  }

  /// A real number from `low` to `high`, both included.
  double const& real(std::string name, double standard, double low, double high, std::string help) {
    Option& option = add(Kind::Real, std::move(name), std::move(help), number_text(standard));
    option.low = low;
    option.high = high;
    return option.real = standard;
  }

  std::string const& text(std::string name, std::string standard, std::string help) {
    Option& option = add(Kind::Text, std::move(name), std::move(help), standard);
    return option.text = std::move(standard);
  }

  /// One of a few words.
  std::string const& choice(std::string name, std::string standard, std::vector<std::string> words, std::string help) {
    Option& option = add(Kind::Choice, std::move(name), std::move(help), standard);
    option.words = std::move(words);
    return option.text = std::move(standard);
  }

  /// False unless given; takes no value.
  bool const& flag(std::string name, std::string help) {
    return add(Kind::Flag, std::move(name), std::move(help), "").on;
  }

  /// Reads the command line; of an option given twice the last counts. Returns false if --help was given and printed:
  /// the program should then end. Throws Error with one line on a mistake.
  bool parse(int argc, char const* const* argv) {
    for (int i = 1; i < argc; ++i) {
      std::string_view const word = argv[i];
      if (word == "--help" || word == "-h") {
        std::fputs(usage().c_str(), stdout);
        return false;
      }
      if (!word.starts_with("--"))
        throw Error({"'", word, "' is no option; options look like --name value, --help lists them"});
      std::size_t const equals = std::min(word.find('='), word.size());
      std::string_view const name = word.substr(2, equals - 2);
      Option& option = find(name);
      bool const joined = equals != word.size();
      if (option.kind == Kind::Flag) {
        if (joined) throw Error({"--", option.name, " is a flag and takes no value, got '", word, "'"});
        option.on = true;
        continue;
      }
      // A word that looks like an option is one: the value is missing. After '=' anything is accepted.
      bool const next = i + 1 < argc && !std::string_view(argv[i + 1]).starts_with("--");
      if (!joined && !next) throw Error({"--", option.name, " wants ", wish(option), ", got nothing"});
      set(option, joined ? word.substr(equals + 1) : std::string_view(argv[++i]));
    }
    return true;
  }

  /// The text of --help.
  [[gnu::cold]] std::string usage() const {
    std::string out = program_ + " - " + purpose_ + "\n\nusage: " + program_ + " [options]\n\n";
    std::size_t widest = head("help", "").size();
    for (Option const& option : options_) widest = std::max(widest, head(option.name, hint(option)).size());
    auto const line = [&](std::string start, std::string const& help) {
      start.resize(widest + 2, ' ');
      out += start + help + "\n";
    };
    for (Option const& option : options_) {
      std::string const standard = option.standard.empty() ? "" : " [" + option.standard + "]";
      line(head(option.name, hint(option)), option.help + standard);
    }
    line(head("help", ""), "print this and do nothing");
    return out;
  }

 private:
  enum class Kind { Number, Real, Text, Choice, Flag };

  struct Option {
    Kind kind = Kind::Flag;
    std::string name, help, standard;
    double low = 0, high = 0;  // of numbers
    std::vector<std::string> words;
    int number = 0;
    double real = 0;
    std::string text;
    bool on = false;
  };

  Option& add(Kind kind, std::string name, std::string help, std::string standard) {
    Option& option = options_.emplace_back();
    option.kind = kind;
    option.name = std::move(name);
    option.help = std::move(help);
    option.standard = std::move(standard);
    return option;
  }

  Option& find(std::string_view name) {
    Option const* nearest = nullptr;
    std::size_t best = 3;  // an edit distance of two is a typing mistake, more is another word
    for (Option& option : options_) {
      if (option.name == name) return option;
      std::size_t const distance = edit_distance(option.name, name);
      if (distance < std::min(best, option.name.size())) {
        best = distance;
        nearest = &option;
      }
    }
    throw Error({"there is no option --", name,
                 (nearest == nullptr ? "; --help lists those there are" : "; did you mean --" + nearest->name + "?")});
  }

  static std::string head(std::string const& name, std::string const& hint) {
    return "  --" + name + (hint.empty() ? "" : " " + hint);
  }

  static std::string joined_words(Option const& option, std::string_view between) {
    std::string out;
    for (std::string const& word : option.words) (out += out.empty() ? "" : between) += word;
    return out;
  }

  static std::string hint(Option const& option) {
    switch (option.kind) {
      case Kind::Number:
        return "N";
      case Kind::Real:
        return "X";
      case Kind::Text:
        return "TEXT";
      case Kind::Choice:
        return joined_words(option, "|");
      case Kind::Flag:
        break;
    }
    return "";
  }

  static std::string wish(Option const& option) {
    bool const whole = option.kind == Kind::Number;
    auto const bound = [&](double value) {
      return whole ? std::to_string(static_cast<int>(value)) : number_text(value);
    };
    if (option.kind == Kind::Choice) return "one of " + joined_words(option, ", ");
    if (option.kind == Kind::Text) return "a value";
    return (whole ? "a whole number from " : "a number from ") + bound(option.low) + " to " + bound(option.high);
  }

  static std::from_chars_result from_text(char const* first, char const* last, double& out) {
    return parse_double(first, last, out);
  }
  template <typename Number> static std::from_chars_result from_text(char const* first, char const* last, Number& out) {
    return std::from_chars(first, last, out);
  }
  template <typename Number> static bool read(Option const& option, std::string_view value, Number& out) {
    char const* const last = value.data() + value.size();
    Number read{};
    auto const [end, code] = from_text(value.data(), last, read);
    bool const good = code == std::errc{} && end == last && read >= option.low && read <= option.high;
    if (good) out = read;
    return good;
  }

  static void set(Option& option, std::string_view value) {
    bool good = true;
    switch (option.kind) {
      case Kind::Number:
        good = read(option, value, option.number);
        break;
      case Kind::Real:
        good = read(option, value, option.real);
        break;
      case Kind::Choice:
        good = std::find(option.words.begin(), option.words.end(), value) != option.words.end();
        [[fallthrough]];
      case Kind::Text:
        option.text = value;
        break;
      case Kind::Flag:
        break;
    }
    if (!good) throw Error({"--", option.name, " wants ", wish(option), ", got '", value, "'"});
  }

  std::string program_;
  std::string purpose_;
  std::deque<Option> options_;
};

}  // namespace cleave::io
