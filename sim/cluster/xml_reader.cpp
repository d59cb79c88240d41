// xml_reader.cpp — one pass, by descent.
#include "sim/cluster/xml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "base/text_scan.hpp"

namespace ukemi {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':';
}

class XmlParser {
public:
    XmlParser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

    XmlElement document() {
        if (text_.size() > xml_bytes_max) {
            throw InputError(file_, 1, 1, fmt::format("more than {} bytes", xml_bytes_max));
        }
        if (const std::size_t bad = first_invalid_utf8(text_); bad != std::string_view::npos) {
            at_ = bad;
            fail("expected UTF-8");
        }
        if (begins("\xEF\xBB\xBF")) at_ += 3;
        skip_space();
        if (begins("<?xml")) {
            const std::size_t end = text_.find("?>", at_);
            if (end == std::string_view::npos) fail("the declaration does not end");
            at_ = end + 2;
        }
        skip_space_and_comments();
        XmlElement root = element(0);
        skip_space_and_comments();
        if (at_ < text_.size()) fail("expected the end of the file after the root element");
        return root;
    }

private:
    [[noreturn]] void fail_at(std::size_t offset, std::string_view problem) const {
        const TextPlace place = place_of(text_, offset);
        throw InputError(file_, place.line, place.column, problem);
    }
    [[noreturn]] void fail(std::string_view problem) const { fail_at(at_, problem); }

    bool begins(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

    void skip_space() {
        while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    }

    void skip_space_and_comments() {
        for (skip_space(); begins("<!--"); skip_space()) {
            const std::size_t end = text_.find("-->", at_ + 4);
            if (end == std::string_view::npos) fail("the comment does not end");
            at_ = end + 3;
        }
    }

    void expect(std::string_view what) {
        if (!begins(what)) fail(fmt::format("expected \"{}\", found {}", what, found()));
        at_ += what.size();
    }

    std::string found() const {
        if (at_ >= text_.size()) return "the end of the file";
        return ukemi::quoted(text_.substr(at_, std::min<std::size_t>(12, text_.size() - at_)));
    }

    std::string name() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_name(text_[at_])) ++at_;
        if (at_ == begin) fail(fmt::format("expected a name, found {}", found()));
        return std::string(text_.substr(begin, at_ - begin));
    }

    std::string value() {
        if (!begins("\"") && !begins("'")) {
            fail(fmt::format("expected a value in quotes, found {}", found()));
        }
        const char quote = text_[at_++];
        std::string text;
        for (;; ++at_) {
            if (at_ >= text_.size()) fail("the value does not end");
            if (text_[at_] == quote) break;
            if (text_[at_] == '<') fail("\"<\" in a value");
            text += text_[at_] == '&' ? entity() : text_[at_];
        }
        ++at_;
        return text;
    }

    char entity() {  // leaves at_ on its last character
        constexpr std::pair<std::string_view, char> entities[] = {
            {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
        for (const auto& [written, meant] : entities) {
            if (!begins(written)) continue;
            at_ += written.size() - 1;
            return meant;
        }
        fail("unknown entity");
    }

    // Elements come in order, so that the text is looked through once and not once an element.
    TextPlace next_place() {
        for (; counted_ < at_; ++counted_) {
            if (text_[counted_] != '\n') continue;
            ++line_;
            line_begin_ = counted_ + 1;
        }
        return {line_, at_ - line_begin_ + 1};
    }

    XmlElement element(std::size_t depth) {
        if (depth >= xml_depth_max) fail(fmt::format("more than {} levels", xml_depth_max));
        if (++count_ > xml_elements_max)
            fail(fmt::format("more than {} elements", xml_elements_max));
        const std::size_t begin = at_;
        const TextPlace place = next_place();
        expect("<");
        XmlElement one;
        one.name = name();
        one.line = place.line;
        one.column = place.column;
        attributes(one);
        if (begins("/>")) {
            at_ += 2;
            return one;
        }
        expect(">");
        for (;;) {
            skip_space_and_comments();
            if (begins("</")) break;
            if (at_ >= text_.size()) {
                fail_at(begin, fmt::format("<{}> is never closed", one.name));
            }
            if (!begins("<")) fail(fmt::format("expected an element, found {}", found()));
            one.children.push_back(element(depth + 1));
        }
        at_ += 2;
        const std::size_t closing = at_;
        if (name() != one.name) {
            fail_at(closing, fmt::format("expected </{}>, opened in line {}", one.name, one.line));
        }
        skip_space();
        expect(">");
        return one;
    }

    void attributes(XmlElement& one) {
        for (;;) {
            const std::size_t before = at_;
            skip_space();
            if (begins("/>") || begins(">")) return;
            if (at_ == before)
                fail(fmt::format("expected white space or \">\", found {}", found()));
            const std::size_t begin = at_;
            std::string key = name();
            if (one.attribute(key)) fail_at(begin, fmt::format("attribute {} appears twice", key));
            skip_space();
            expect("=");
            skip_space();
            one.attributes.emplace_back(std::move(key), value());
        }
    }

    std::string_view text_;
    std::string_view file_;
    std::size_t at_ = 0;
    std::size_t count_ = 0;
    std::size_t counted_ = 0;  // bytes whose lines are counted
    std::size_t line_ = 1;
    std::size_t line_begin_ = 0;
};

}  // namespace

std::optional<std::string_view> XmlElement::attribute(std::string_view wanted) const {
    for (const auto& [key, value] : attributes) {
        if (key == wanted) return value;
    }
    return std::nullopt;
}

XmlElement parse_xml(std::string_view text, std::string_view file) {
    return XmlParser(text, file).document();
}

}  // namespace ukemi
