// code_text.cpp — C++ with everything blanked out that is not code.
#include <algorithm>
#include <cctype>

#include "tests/tidy/rules.hpp"

namespace ukemi::tidy {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Blanker {
public:
    explicit Blanker(std::string_view text) : text_(text), code_(text) {}

    std::string blanked() {
        while (at_ < text_.size()) {
            if (starts_directive()) {
                blank_directive();
            } else if (begins("//")) {
                blank_until("\n", 0);
            } else if (begins("/*")) {
                blank_until("*/", 2);
            } else if (text_[at_] == '"' && starts_raw_text()) {
                blank_raw_text();
            } else if (text_[at_] == '"') {
                blank_quoted('"');
            } else if (text_[at_] == '\'' && !separates_digits()) {
                blank_quoted('\'');
            } else {
                ++at_;
            }
        }
        return std::move(code_);
    }

private:
    bool begins(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

    void blank(std::size_t end) {
        for (end = std::min(end, text_.size()); at_ < end; ++at_) {
            if (text_[at_] != '\n') code_[at_] = ' ';
        }
    }

    void blank_until(std::string_view end, std::size_t keep) {
        const std::size_t found = text_.find(end, at_ + keep);
        blank(found == std::string_view::npos ? text_.size() : found + keep);
    }

    bool starts_directive() const {
        if (text_[at_] != '#') return false;
        const std::size_t line = text_.find_last_of('\n', at_);
        const std::size_t begin = line == std::string_view::npos ? 0 : line + 1;
        return text_.substr(begin, at_ - begin).find_first_not_of(" \t") == std::string_view::npos;
    }

    void blank_directive() {
        std::size_t end = at_;
        do {
            end = std::min(text_.find('\n', end + 1), text_.size());
        } while (end < text_.size() && text_[end - 1] == '\\');
        blank(end);
    }

    // The quote itself stays, so that a text is not mistaken for nothing.
    void blank_quoted(char quote) {
        std::size_t end = at_ + 1;
        while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
            end += text_[end] == '\\' ? 2 : 1;
        }
        ++at_;
        blank(end);
        at_ = std::min(end + 1, text_.size());
    }

    bool starts_raw_text() const { return at_ > 0 && text_[at_ - 1] == 'R'; }

    void blank_raw_text() {
        const std::size_t open = text_.find('(', at_);
        if (open == std::string_view::npos) return blank(text_.size());
        std::string close(text_.substr(at_, open - at_));  // the quote, then the delimiter
        close.front() = ')';
        close += '"';
        ++at_;
        const std::size_t found = text_.find(close, open);
        if (found == std::string_view::npos) return blank(text_.size());
        blank(found + close.size() - 1);
        ++at_;
    }

    bool separates_digits() const {  // 1'000'000
        std::size_t begin = at_;
        while (begin > 0 && (is_word(text_[begin - 1]) || text_[begin - 1] == '\'')) --begin;
        return begin < at_ && std::isdigit(static_cast<unsigned char>(text_[begin])) != 0;
    }

    std::string_view text_;
    std::string code_;
    std::size_t at_ = 0;
};

}  // namespace

std::string code_only(std::string_view text) { return Blanker(text).blanked(); }

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

}  // namespace ukemi::tidy
