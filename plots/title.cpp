#include "plots/title.hpp"

#include <fmt/format.h>

#include "plots/gnuplot.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t title_lines_max = 4;
constexpr std::size_t title_characters_max = 400;
constexpr double title_line_height = 17;
constexpr double title_margin = 10;

// At spaces, and within a word only where it is longer than a line.
std::vector<std::string> wrapped(std::string_view text, double width) {
    std::vector<std::string> lines;
    std::string line;
    const auto end_line = [&] {
        if (!line.empty()) lines.push_back(line);
        line.clear();
    };
    while (!text.empty()) {
        const std::size_t space = text.find(' ');
        const std::string_view word = text.substr(0, space);
        text.remove_prefix(space == text.npos ? text.size() : space + 1);
        const std::string longer = fmt::format("{}{}{}", line, line.empty() ? "" : " ", word);
        if (label_width(longer) <= width) {
            line = longer;
            continue;
        }
        end_line();
        for (const char byte : word) {  // the first of each character has its width
            if (label_width(line + byte) > width) end_line();
            line += byte;
        }
    }
    end_line();
    return lines;
}

}  // namespace

Title::Title(std::string_view text, double width) {
    if (text.empty()) return;
    std::size_t characters = title_characters_max;
    do {
        lines_ = wrapped(label_text(text, characters), width - 2 * title_margin);
        characters -= characters / 8;
    } while (lines_.size() > title_lines_max);
}

double Title::more() const {
    return empty() ? 0 : title_line_height * static_cast<double>(lines_.size() - 1);
}

std::string Title::settings() const {
    std::string text = fmt::format("array title_lines[{}]\n", lines_.size());
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        text += fmt::format("title_lines[{}] = {}\n", i + 1, gnuplot_string(lines_[i]));
    }
    return empty() ? "" : text;
}

std::string Title::label(double width, double height) const {
    if (empty()) return {};
    return fmt::format(
        "    do for [i=1:{}] {{\n"
        "        set label 200+i title_lines[i] at screen {},screen {}-{}*(i-1)\n    }}\n",
        lines_.size(), title_margin / width, 1 - 16 / height, title_line_height / height);
}

}  // namespace ukemi::plots
