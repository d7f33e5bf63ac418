// data/csv.hpp - a CSV file as a data set: columns of numbers as inputs, others as the class or the values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../io/csv.hpp"
#include "../io/parse_double.hpp"
#include "dataset.hpp"

namespace cleave {

/// What an empty cell of an input becomes: `.fill = 0`, or `.fill = CsvFill::mean()`, the mean of the column over the
/// file.
class CsvFill {
 public:
  CsvFill() = default;
  CsvFill(double number) : numbers_{static_cast<float>(number)} {}
  /// A number for each input.
  explicit CsvFill(std::vector<float> numbers) : numbers_(std::move(numbers)) {}
  static CsvFill mean() {
    CsvFill fill;
    fill.by_mean_ = true;
    return fill;
  }

  bool by_mean() const { return by_mean_; }
  /// One for all inputs or one for each; none if cells may not be empty, or if the mean is not known yet.
  std::vector<float> const& numbers() const { return numbers_; }

 private:
  std::vector<float> numbers_;
  bool by_mean_ = false;
};

/// A column of texts as inputs: one for each text, 1 in the lines that have it and 0 in the others.
struct CsvCategory {
  std::string column;
  std::vector<std::string> texts;  ///< in the order of their inputs; default: all of the file, sorted
  CsvCategory(std::string name, std::vector<std::string> all = {}) : column(std::move(name)), texts(std::move(all)) {}
  CsvCategory(char const* name) : column(name) {}
};

/// A column is named as in the header, or by its number from 0 where there is none.
struct CsvOptions {
  std::string target{};                ///< the column of the class, or of the only value; default: the last one
  std::vector<std::string> targets{};  ///< the columns of several values, in their order; default: the last ones
  std::vector<std::string> ignore{};   ///< columns that are neither inputs nor targets
  std::vector<std::string> classes{};  ///< the texts of the classes, in the order of their numbers; default: sorted
  char separator = ',';
  bool header = true;                     ///< the first line has the names of the columns
  std::vector<std::string> missing{};     ///< texts that count as an empty cell, such as "?" or "NA"
  CsvFill fill{};                         ///< what an empty cell of an input becomes; default: an Error
  std::vector<CsvCategory> categories{};  ///< columns of texts among the inputs, such as {"sex", "port"}
};

/// `Csv<Vector<4>, Class<3>> const iris("iris.csv", {.target = "species"});`: all other columns are inputs, in their
/// order; a column of `.categories` has as many inputs as texts. Texts of classes get the numbers 0, 1, ... in sorted
/// order (whole numbers in theirs), and are saved with the weights. The file is read whole. Throws Error, with file,
/// line and column, if a cell is empty or no number, and if there are other columns or classes than the types say.
template <class InputT, class TargetT> class Csv {
 public:
  using Input = InputT;
  using Target = TargetT;
  static constexpr bool in_memory = true;

  explicit Csv(std::string const& path, CsvOptions const& how = {})
      : path_(path), missing_(how.missing), fill_(how.fill), categories_(how.categories) {
    std::vector<io::CsvLine> lines = io::read_csv(path, how.separator);
    if (lines.size() < (how.header ? 2u : 1u)) throw Error({path, ": no samples"});
    for (std::size_t c = 0; c < lines[0].cells.size(); ++c)
      names_.push_back(how.header ? lines[0].cells[c] : std::to_string(c));
    if (how.header) lines.erase(lines.begin());
    choose_columns(how, lines);
    rows_ = lines.size();
    std::vector<std::size_t> empty;  // into x_
    for (io::CsvLine const& line : lines) {
      if (line.cells.size() != names_.size())
        fail(line, {line.cells.size(), " cells, but there are ", names_.size(), " columns"});
      for (InputColumn const& in : inputs_) {
        std::string const& cell = line.cells[in.column];
        bool const filled = is_filled(cell);
        if (filled) empty.push_back(x_.size());
        x_.push_back(filled ? 0 : in.text ? (cell == *in.text ? 1.0f : 0.0f) : number(line, in.column));
      }
      if constexpr (!of_classes)
        for (std::size_t c : targets_) y_.push_back(number(line, c));
    }
    if constexpr (of_classes) read_classes(lines, how);
    fill_in(empty);
  }

  long size() const { return static_cast<long>(rows_); }
  void read(long i, std::span<float> x, typename Target::Read y) const {
    std::copy_n(x_.begin() + i * static_cast<long>(x.size()), x.size(), x.begin());
    if constexpr (of_classes) {
      y = label(i);
    } else {
      std::copy_n(y_.begin() + i * static_cast<long>(y.size()), y.size(), y.begin());
    }
  }
  int label(long i) const requires requires { TargetT::classes; }
  { return labels_[static_cast<std::size_t>(i)]; }
  /// The texts of the classes, in the order of their numbers.
  std::vector<std::string> const& class_names() const { return class_names_; }
  /// What empty cells became, for other files of the same columns: `Csv<...> test("test.csv", {.fill =
  /// training.fill()});`.
  CsvFill const& fill() const { return fill_; }
  /// The texts of columns, for other files of the same columns: `{.categories = training.categories()}`.
  std::vector<CsvCategory> const& categories() const { return categories_; }
  /// Names of the inputs, in their order: of the column, or `sex=female` of a text.
  std::vector<std::string> input_names() const {
    std::vector<std::string> out;
    for (InputColumn const& in : inputs_) out.push_back(names_[in.column] + (in.text ? "=" + *in.text : ""));
    return out;
  }

 private:
  static constexpr bool of_classes = requires { TargetT::classes; };
  static constexpr std::size_t target_columns = session::numbers_of_target<TargetT>;

  /// What an input is read from: the number of a column, or whether it has a text.
  struct InputColumn {
    std::size_t column;
    std::optional<std::string> text{};
  };

  [[noreturn]] void fail(io::CsvLine const& at, meta::Pieces what) const {
    throw Error({path_, ":", at.number, ": ", meta::joined(what)});
  }
  std::size_t column(std::string const& name) const {
    auto const at = std::find(names_.begin(), names_.end(), name);
    if (at != names_.end()) return static_cast<std::size_t>(at - names_.begin());
    std::string all;
    for (std::string const& n : names_) all += (all.empty() ? "" : ", ") + n;
    throw Error({path_, ": no column \"", name, "\"; there are ", all});
  }
  void choose_columns(CsvOptions const& how, std::vector<io::CsvLine> const& lines) {
    std::vector<std::string> wanted = how.targets;
    if (!how.target.empty()) wanted.insert(wanted.begin(), how.target);
    std::vector<bool> used(names_.size());
    auto const use = [&](std::size_t c) {
      if (used[c]) throw Error({path_, ": column \"", names_[c], "\" is named twice in the options"});
      used[c] = true;
    };
    for (std::string const& name : how.ignore) use(column(name));
    for (std::string const& name : wanted) targets_.push_back(column(name)), use(targets_.back());
    for (std::size_t c = names_.size(); wanted.empty() && c > 0 && targets_.size() < target_columns; --c) {
      if (used[c - 1]) continue;
      targets_.insert(targets_.begin(), c - 1);
      used[c - 1] = true;
    }
    std::vector<CsvCategory const*> texts_of(names_.size());
    for (CsvCategory& of : categories_) {
      std::size_t const c = column(of.column);
      if (used[c] || texts_of[c]) throw Error({path_, ": column \"", of.column, "\" is named twice in the options"});
      read_texts(of, c, lines);
      texts_of[c] = &of;
    }
    for (std::size_t c = 0; c < names_.size(); ++c) {
      if (used[c]) continue;
      if (!texts_of[c]) inputs_.push_back({c});
      for (std::size_t t = 0; texts_of[c] && t < texts_of[c]->texts.size(); ++t)
        inputs_.push_back({c, texts_of[c]->texts[t]});
    }
    if (targets_.size() != target_columns)
      throw Error({path_, ": ", targets_.size(), " columns of targets, but the data set's type has ", target_columns});
    if (static_cast<long>(inputs_.size()) != Input::shape.size())
      throw Error({path_, ": ", inputs_.size(),
                   categories_.empty() ? " columns of inputs" : " inputs, with those of texts",
                   ", but the data set's type has ", Input::shape.size(),
                   "; .ignore names columns that are neither inputs nor targets"});
  }
  /// The texts of a column, if the options do not say them; and whether each line has one of them.
  void read_texts(CsvCategory& of, std::size_t column, std::vector<io::CsvLine> const& lines) {
    bool const said = !of.texts.empty();
    for (io::CsvLine const& line : lines) {
      if (column >= line.cells.size()) continue;  // which is refused as it is read
      std::string const& cell = line.cells[column];
      bool const known = std::find(of.texts.begin(), of.texts.end(), cell) != of.texts.end();
      if (known || is_filled(cell)) continue;
      if (is_empty(cell)) fail_empty(line, column);
      if (said) fail(line, {"column \"", names_[column], "\": \"", cell, "\" is none of its .categories"});
      of.texts.push_back(cell);
    }
    if (!said) std::sort(of.texts.begin(), of.texts.end(), by_text);
  }
  bool is_empty(std::string const& cell) const {
    return cell.empty() || std::find(missing_.begin(), missing_.end(), cell) != missing_.end();
  }
  /// Whether it is empty, and .fill says what it becomes.
  bool is_filled(std::string const& cell) const {
    return is_empty(cell) && (fill_.by_mean() || !fill_.numbers().empty());
  }
  static bool by_text(std::string const& a, std::string const& b) { return a < b; }
  [[noreturn]] void fail_empty(io::CsvLine const& line, std::size_t c) const {
    bool const input = std::find(targets_.begin(), targets_.end(), c) == targets_.end();
    fail(line, {"column \"", names_[c], "\" is empty; leave the line out",
                input ? ", or say .fill = 0 or .fill = CsvFill::mean()" : ""});
  }
  /// Writes the numbers of `fill_` into elements of x_.
  void fill_in(std::vector<std::size_t> const& empty) {
    std::size_t const columns = inputs_.size();
    if (fill_.by_mean()) {
      std::vector<double> sums(columns);
      std::vector<long> counts(columns);
      for (std::size_t i = 0, next = 0; i < x_.size(); ++i) {
        if (next < empty.size() && empty[next] == i) {
          ++next;
          continue;
        }
        sums[i % columns] += static_cast<double>(x_[i]);
        ++counts[i % columns];
      }
      std::vector<float> means;
      for (std::size_t k = 0; k < columns; ++k) {
        if (counts[k] == 0)
          throw Error({path_, ": column \"", names_[inputs_[k].column], "\" has only empty cells, and so no mean"});
        means.push_back(static_cast<float>(sums[k] / static_cast<double>(counts[k])));
      }
      fill_ = CsvFill(std::move(means));
    }
    std::vector<float> const& numbers = fill_.numbers();
    if (numbers.size() > 1 && numbers.size() != columns)
      throw Error({path_, ": .fill has ", numbers.size(), " numbers, but there are ", columns,
                   categories_.empty() ? " columns of inputs" : " inputs, with those of texts"});
    for (std::size_t const i : empty) x_[i] = numbers[numbers.size() == 1 ? 0 : i % columns];
  }
  float number(io::CsvLine const& line, std::size_t c) const {
    std::string const& cell = line.cells[c];
    if (is_empty(cell)) fail_empty(line, c);
    double value = 0;
    char const* const begin = cell.data() + (cell[0] == '+' && cell.size() > 1 ? 1 : 0);
    char const* const end = cell.data() + cell.size();
    auto const [stop, error] = io::parse_double(begin, end, value);
    auto const out = static_cast<float>(value);
    if (error != std::errc{} || stop != end || !std::isfinite(out))
      fail(line,
           {"column \"", names_[c], "\": \"", cell,
            "\" is no number that a float can hold; .ignore leaves a column out, .categories has columns of texts"});
    return out;
  }
  void read_classes(std::vector<io::CsvLine> const& lines, CsvOptions const& how) {
    std::size_t const column = targets_[0];
    class_names_ = how.classes;
    for (io::CsvLine const& line : lines) {
      std::string const& cell = line.cells[column];
      if (is_empty(cell) && std::find(how.classes.begin(), how.classes.end(), cell) == how.classes.end())
        fail_empty(line, column);
    }
    if (class_names_.empty()) {
      for (io::CsvLine const& line : lines) class_names_.push_back(line.cells[column]);
      std::sort(class_names_.begin(), class_names_.end(), by_text);
      class_names_.erase(std::unique(class_names_.begin(), class_names_.end()), class_names_.end());
      auto const digits = [](std::string const& s) {
        return !s.empty() && s.size() < 10 && s.find_first_not_of("0123456789") == std::string::npos;
      };
      if (std::all_of(class_names_.begin(), class_names_.end(), digits))
        std::sort(class_names_.begin(), class_names_.end(),
                  [](std::string const& a, std::string const& b) { return std::stol(a) < std::stol(b); });
    }
    if (class_names_.size() != static_cast<std::size_t>(Target::classes)) {
      std::string some;
      for (std::size_t i = 0; i < class_names_.size() && i < 5; ++i) some += (i > 0 ? ", " : "") + class_names_[i];
      throw Error({path_, ": column \"", names_[column], "\" has ", class_names_.size(), " classes (", some,
                   class_names_.size() > 5 ? ", ...)" : ")", ", but the data set's type has ", Target::classes,
                   "; say Class<n>, or all of them in .classes"});
    }
    for (io::CsvLine const& line : lines) {
      auto const at = std::find(class_names_.begin(), class_names_.end(), line.cells[column]);
      if (at == class_names_.end())
        fail(line, {"column \"", names_[column], "\": \"", line.cells[column], "\" is none of .classes"});
      labels_.push_back(static_cast<int>(at - class_names_.begin()));
    }
  }

  std::string path_;
  std::vector<std::string> names_, class_names_, missing_;
  CsvFill fill_;
  std::vector<CsvCategory> categories_;
  std::vector<InputColumn> inputs_;
  std::vector<std::size_t> targets_;  // columns
  std::size_t rows_ = 0;
  std::vector<float> x_, y_;  // (rows, inputs), (rows, values)
  std::vector<int> labels_;   // (rows)
};

}  // namespace cleave
