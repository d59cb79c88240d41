// aws_price_history.cpp — the JSON of `aws ec2 describe-spot-price-history`, however it was saved.
//
// An object with "SpotPriceHistory", a list of its records, a list of pages, or several of these
// one after another (pages, or a record a line), in one file or in several. Newest first, several
// zones and types mixed, an unchanged price repeated daily.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/json_scanner.hpp"
#include "base/text_scan.hpp"
#include "traces/forms/forms.hpp"
#include "traces/forms/price_history.hpp"
#include "traces/limits.hpp"

namespace ukemi::traces {

namespace {

// Reads documents of one page; what stands in one goes to `history`.
class DocumentReader {
public:
    DocumentReader(JsonScanner& json, PriceHistory& history, std::uint32_t page, std::size_t before)
        : json_(json), history_(history), page_(page), before_(before) {}

    // A page, a record, or a list of either.
    void read_value() {
        each_object(json_, [this] { read_object(); });
    }

private:
    // Which of the two it is, only its keys say.
    void read_object() {
        HistoryRecord record;
        bool is_page = false;
        bool has_token = false;
        std::string_view key;
        json_.begin_object();
        const std::size_t begin = json_.offset();
        while (json_.next_key(key)) {
            const std::size_t index = HistoryRecord::index_of(key);
            if (index < HistoryRecord::keys.size()) {
                read_member(index, record);
            } else if (key == "SpotPriceHistory") {
                if (std::exchange(is_page, true)) {
                    json_.fail("expected \"SpotPriceHistory\" once, found it again");
                }
                json_.begin_array();
                while (json_.next_element()) read_object();
            } else if (key == "NextToken") {
                has_token = read_token();
            } else {
                json_.skip_value();
            }
        }
        if (is_page && record.is_empty()) return history_.page_ends(has_token);
        if (!record.missing().empty()) {
            json_.fail_at(begin, fmt::format("expected the key \"{}\"", record.missing()));
        }
        record.row.offset = before_ + begin;
        record.row.page = page_;
        history_.add(std::move(record.names), record.row);
        if (history_.rows() > trace_rows_max) {
            json_.fail(fmt::format("expected at most {} prices", trace_rows_max));
        }
    }

    bool read_token() {
        if (json_.peek() != JsonScanner::Kind::null) return !json_.text().empty();
        json_.null();
        return false;
    }

    void read_member(std::size_t index, HistoryRecord& record) {
        if (record.has(index)) {
            json_.fail(
                fmt::format("expected \"{}\" once, found it again", HistoryRecord::keys[index]));
        }
        // Saved by other programs, the price is sometimes a number.
        if (index == HistoryRecord::price_key && json_.peek() == JsonScanner::Kind::number) {
            record.set_price(Price::of(json_.decimal(9, 0, trace_price_max.raw(), expected_price)));
            return;
        }
        const std::string_view text = json_.text();
        const std::string_view expected = record.set(index, text);
        if (!expected.empty()) {
            json_.fail(fmt::format("expected {}, found {}", expected, quoted(text)));
        }
    }

    JsonScanner& json_;
    PriceHistory& history_;
    std::uint32_t page_;
    std::size_t before_;
};

Trace read_history_pages(std::span<const TracePage> pages, const ReadOptions&) {
    PriceHistory history(pages);
    const std::size_t documents =
        for_each_document(pages, [&](JsonScanner& json, std::uint32_t page, std::size_t before) {
            DocumentReader(json, history, page, before).read_value();
        });
    ImportReport report;
    if (documents > 1) report.notes.push_back(fmt::format("{} pages or records", documents));
    return std::move(history).finish(std::move(report));
}

Trace read_history(std::string_view text, const std::filesystem::path& file,
                   const ReadOptions& options) {
    const TracePage page{text, file};
    return read_history_pages({&page, 1}, options);
}

}  // namespace

TraceForm aws_price_history_json_form() {
    return {"aws_price_history_json", "JSON of `aws ec2 describe-spot-price-history`, also paged",
            [](std::string_view head, const std::filesystem::path&) {
                return begins_json(head) &&
                       (has_json_key(head, "SpotPriceHistory") || has_json_key(head, "SpotPrice"));
            },
            read_history, read_history_pages};
}

}  // namespace ukemi::traces
