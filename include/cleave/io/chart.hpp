// io/chart.hpp - line charts as SVG files: loss curves, scaling curves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cleave/io/axis.hpp>
#include <cleave/io/file.hpp>
#include <cleave/meta/text.hpp>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::io {

/// One line of a chart. Points that are not finite (or not positive on a logarithmic axis) leave a gap.
struct Series {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;  ///< as many as x
};

struct ChartText {
  std::string title;
  std::string x_label;
  std::string y_label;
};

/// `text` with characters replaced that have a meaning in XML.
inline std::string xml_text(std::string_view text) {
  std::string out;
  for (char const c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

/// Draws one chart, 800 x 480 pixels.
class LineChart {
 public:
  LineChart(ChartText const& text, std::vector<Series> const& all, Scale y_scale)
      : x_(Scale::Linear, left, right), y_(y_scale, bottom, top) {
    for (Series const& series : all) {
      for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
        if (!x_.holds(series.x[i]) || !y_.holds(series.y[i])) continue;
        x_.widen(series.x[i]);
        y_.widen(series.y[i]);
      }
    }
    x_.settle(false);
    y_.settle(true);
    add_frame(text);
    for (std::size_t i = 0; i < all.size(); ++i) add_series(all[i], colours[i % colours.size()]);
    add_legend(all);
  }

  std::string svg() const {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 480\" width=\"800\" height=\"480\" "
           "font-family=\"system-ui, Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#333\">\n"
           "<rect width=\"800\" height=\"480\" fill=\"#fff\"/>\n" +
           body_ + "</svg>\n";
  }

 private:
  static constexpr double left = 76, right = 764, top = 76, bottom = 424;
  // Distinguishable for colour-blind readers too.
  static constexpr std::array<std::string_view, 7> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                           "#e69f00", "#56b4e9", "#555555"};

  static std::string px(double value) {
    char buffer[32];
    int const size = std::snprintf(buffer, sizeof buffer, "%.1f", value);
    return {buffer, static_cast<std::size_t>(size)};
  }

  void add_line(double x1, double y1, double x2, double y2, std::string_view colour, std::string_view width) {
    ((body_ += "<path d=\"M" + px(x1) + " " + px(y1) + "L" + px(x2) + " " + px(y2) + "\" stroke=\"") += colour) +=
        "\" stroke-width=\"";
    (body_ += width) += "\"/>\n";
  }

  void add_dot(double x, double y, std::string_view colour) {
    (body_ += "<circle r=\"3.2\" cx=\"" + px(x) + "\" cy=\"" + px(y) + "\" fill=\"") += colour;
    body_ += "\"/>\n";
  }

  void add_text(double x, double y, std::string_view how, std::string_view text) {
    ((body_ += "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\" ") += how) += ">" + xml_text(text) + "</text>\n";
  }

  void add_frame(ChartText const& text) {
    for (double const mark : y_.marks()) {
      add_line(left, y_.pixel(mark), right, y_.pixel(mark), "#e4e4e4", "1");
      add_text(left - 8, y_.pixel(mark) + 4.5, "text-anchor=\"end\"", meta::short_number(mark));
    }
    for (double const mark : x_.marks()) {
      add_line(x_.pixel(mark), top, x_.pixel(mark), bottom, "#e4e4e4", "1");
      add_text(x_.pixel(mark), bottom + 19, "text-anchor=\"middle\"", meta::short_number(mark));
    }
    add_line(left, bottom, right, bottom, "#555", "1.2");
    add_line(left, top, left, bottom, "#555", "1.2");
    add_text(left, 30, "font-size=\"17\" font-weight=\"600\" fill=\"#111\"", text.title);
    add_text((left + right) / 2, bottom + 42, "text-anchor=\"middle\"", text.x_label);
    add_text(-(top + bottom) / 2, 20, "text-anchor=\"middle\" transform=\"rotate(-90)\"", text.y_label);
  }

  void add_series(Series const& series, std::string_view colour) {
    std::string path;
    bool drawing = false;
    double last_x = 0;
    double last_y = 0;
    for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
      bool const there = x_.holds(series.x[i]) && y_.holds(series.y[i]);
      double const x = there ? x_.pixel(series.x[i]) : 0;
      double const y = there ? y_.pixel(series.y[i]) : 0;
      // A point on top of the one before is left out: long runs have very many.
      bool const same = drawing && there && std::abs(x - last_x) < 0.3 && std::abs(y - last_y) < 0.3;
      if (there && !same) {
        path += (drawing ? "L" : "M") + px(x) + " " + px(y);
        // A single point between two gaps becomes a dot, by its round ends.
        if (!drawing) path += "h0";
        if (series.x.size() <= 24) add_dot(x, y, colour);
        last_x = x;
        last_y = y;
      }
      drawing = there;
    }
    (body_ +=
     "<path fill=\"none\" stroke-width=\"1.8\" stroke-linejoin=\"round\" stroke-linecap=\"round\" stroke=\"") += colour;
    body_ += "\" d=\"" + path + "\"/>\n";
  }

  void add_legend(std::vector<Series> const& all) {
    double x = left;
    double const y = 54;
    for (std::size_t i = 0; i < all.size(); ++i) {
      add_line(x, y, x + 22, y, colours[i % colours.size()], "3");
      add_text(x + 28, y + 4.5, "", all[i].name);
      x += 28 + 7.2 * static_cast<double>(all[i].name.size()) + 22;
    }
  }

  Axis x_, y_;
  std::string body_;
};

/// Writes the series as one SVG line chart. Throws Error if the file cannot be written.
inline void write_line_chart(std::string const& path, ChartText const& text, std::vector<Series> const& series,
                             Scale y_scale = Scale::Linear) {
  std::string const svg = LineChart(text, series, y_scale).svg();
  write_file(path, Bytes(reinterpret_cast<unsigned char const*>(svg.data()), svg.size()));
}

}  // namespace cleave::io
