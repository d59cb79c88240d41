// aws_price_history_yaml.cpp — the answer of `aws ec2 describe-spot-price-history` with `--output
// yaml` or `yaml-stream` (https://docs.aws.amazon.com/cli/latest/userguide/
// cli-usage-output-format.html).
//
//     SpotPriceHistory:
//     - AvailabilityZone: us-east-1a
//       SpotPrice: '0.310000'
//
// No reader of YAML: lines of one key and one value, a dash before the first of each record. What
// is written in another way is refused, with the option that gives JSON.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/text_scan.hpp"
#include "traces/forms/forms.hpp"
#include "traces/forms/price_history.hpp"
#include "traces/limits.hpp"

namespace ukemi::traces {

namespace {

constexpr std::string_view history_key = "SpotPriceHistory";
constexpr std::string_view token_key = "NextToken";

// "- SpotPrice: '0.31'" in its parts.
struct YamlLine {
    bool begins_element = false;  // after a dash
    std::string_view key;         // empty: no such line
    std::string_view value;
};

std::string_view without_blanks(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r"), text.size()));
    return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

char line_end_of(std::string_view text) {
    return text.find('\n') == std::string_view::npos ? '\r' : '\n';
}

YamlLine yaml_line(std::string_view text) {
    YamlLine line;
    text = without_blanks(text);
    while (text.starts_with("- ")) {
        line.begins_element = true;
        text = without_blanks(text.substr(2));
    }
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return line;
    if (colon + 1 < text.size() && text[colon + 1] != ' ') return line;
    const bool is_word = std::ranges::all_of(text.substr(0, colon), [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    });
    if (!is_word) return line;  // "{SpotPrice: …}", a value with a colon in it
    line.key = text.substr(0, colon);
    line.value = without_blanks(text.substr(colon + 1));
    const char quote = line.value.empty() ? '\0' : line.value.front();
    if ((quote == '\'' || quote == '"') && line.value.size() > 1 && line.value.ends_with(quote)) {
        line.value = line.value.substr(1, line.value.size() - 2);
    }
    return line;
}

// Reads the lines of one page.
class YamlReader {
public:
    YamlReader(const TracePage& page, std::uint32_t index, PriceHistory& history)
        : page_(page), index_(index), history_(history) {}

    void read() {
        const std::string_view text = page_.text;
        const std::size_t invalid = first_invalid_utf8(text);
        if (invalid != std::string_view::npos) {
            fail_in(page_, invalid, "expected UTF-8, found another byte");
        }
        const char line_end = line_end_of(text);
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find(line_end, at), text.size());
            const std::string_view line = without_blanks(text.substr(at, end - at));
            if (!line.empty() && !line.starts_with('#') && line != "---") read_line(line, at);
            at = end + 1;
        }
        end_record();
        end_page();
    }

private:
    void read_line(std::string_view text, std::size_t offset) {
        const YamlLine line = yaml_line(text);
        if (line.key.empty()) {
            fail_in(page_, offset,
                    "expected a line such as \"SpotPrice: '0.310000'\" (or ask for --output json)");
        }
        const std::size_t key = HistoryRecord::index_of(line.key);
        const bool is_of_page = line.key == history_key || line.key == token_key;
        if (line.begins_element || is_of_page) end_record();
        if (!is_of_page && !in_record_) {
            in_record_ = true;
            record_begins_ = offset;
        }
        if (line.key == history_key) {
            if (in_page_) end_page();
            in_page_ = true;
        } else if (line.key == token_key) {
            // It stands before the records of its page, because keys are in order of letters.
            if (line.begins_element && in_page_) end_page();
            has_token_ = !line.value.empty() && line.value != "null";
        } else if (key < HistoryRecord::keys.size()) {
            if (record_.has(key)) {
                fail_in(page_, offset,
                        fmt::format("expected \"{}\" once, found it again", line.key));
            }
            const std::string_view expected = record_.set(key, line.value);
            if (!expected.empty()) {
                fail_in(page_, offset,
                        fmt::format("expected {}, found {}", expected, quoted(line.value)));
            }
        }
    }

    void end_record() {
        if (!std::exchange(in_record_, false)) return;
        if (!record_.missing().empty()) {
            fail_in(page_, record_begins_,
                    fmt::format("expected the key \"{}\" in this record", record_.missing()));
        }
        record_.row.offset = record_begins_;
        record_.row.page = index_;
        history_.add(std::move(record_.names), record_.row);
        record_ = {};
        if (history_.rows() > trace_rows_max) {
            fail_in(page_, record_begins_,
                    fmt::format("expected at most {} prices", trace_rows_max));
        }
    }

    void end_page() {
        history_.page_ends(std::exchange(has_token_, false));
        in_page_ = false;
    }

    const TracePage& page_;
    std::uint32_t index_;
    PriceHistory& history_;
    HistoryRecord record_;
    std::size_t record_begins_ = 0;
    bool in_record_ = false;
    bool in_page_ = false;
    bool has_token_ = false;
};

Trace read_yaml_pages(std::span<const TracePage> pages, const ReadOptions&) {
    PriceHistory history(pages);
    for (std::uint32_t page = 0; page < pages.size(); ++page) {
        YamlReader(pages[page], page, history).read();
    }
    ImportReport report;
    if (pages.size() > 1) report.notes.push_back(fmt::format("{} pages", pages.size()));
    return std::move(history).finish(std::move(report));
}

Trace read_yaml(std::string_view text, const std::filesystem::path& file,
                const ReadOptions& options) {
    const TracePage page{text, file};
    return read_yaml_pages({&page, 1}, options);
}

bool recognises_yaml(std::string_view head, const std::filesystem::path&) {
    if (begins_json(head)) return false;
    const char line_end = line_end_of(head);
    for (std::size_t at = 0; at < head.size();) {
        const std::size_t end = std::min(head.find(line_end, at), head.size());
        const YamlLine line = yaml_line(head.substr(at, end - at));
        if (line.key == history_key || HistoryRecord::index_of(line.key) < 4) return true;
        const std::string_view text = without_blanks(head.substr(at, end - at));
        const bool may_precede =
            text.empty() || text == "---" || text.starts_with('#') || line.key == token_key;
        if (!may_precede) return false;
        at = end + 1;
    }
    return false;
}

}  // namespace

TraceForm aws_price_history_yaml_form() {
    return {"aws_price_history_yaml", "the same as `--output yaml` or `yaml-stream`",
            recognises_yaml, read_yaml, read_yaml_pages};
}

}  // namespace ukemi::traces
