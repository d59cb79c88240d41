// aws_price_history.cpp — the JSON of `aws ec2 describe-spot-price-history`, however it was saved.
//
// An object with "SpotPriceHistory", a list of its records, a list of pages, or several of these
// one after another (pages, or a record a line), in one file or in several. Newest first, several
// zones and types mixed, an unchanged price repeated daily.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/json_scanner.hpp"
#include "base/text_scan.hpp"
#include "traces/forms/forms.hpp"
#include "traces/forms/price_history.hpp"
#include "traces/limits.hpp"

namespace ukemi::traces {

namespace {

constexpr std::string_view expected_stamp =
    "a time such as 2020-02-27T13:48:57.000Z (years 1970 to 2199)";
constexpr std::array<std::string_view, 5> record_keys{
    "AvailabilityZone", "InstanceType", "ProductDescription", "SpotPrice", "Timestamp"};

// Reads documents of one page; what stands in one goes to `history`.
class DocumentReader {
public:
    DocumentReader(JsonScanner& json, PriceHistory& history, std::uint32_t page, std::size_t before)
        : json_(json), history_(history), page_(page), before_(before) {}

    // A page, a record, or a list of either.
    void read_value() {
        if (json_.peek() != JsonScanner::Kind::array) return read_object();
        json_.begin_array();
        while (json_.next_element()) read_value();
    }

private:
    struct Record {
        std::array<bool, record_keys.size()> seen{};
        PriceHistory::Names names;
        PlacedSample<Price> row;
    };

    // Which of the two it is, only its keys say.
    void read_object() {
        Record record;
        bool is_page = false;
        bool has_token = false;
        std::string_view key;
        json_.begin_object();
        const std::size_t begin = json_.offset();
        while (json_.next_key(key)) {
            const auto index = static_cast<std::size_t>(
                std::find(record_keys.begin(), record_keys.end(), key) - record_keys.begin());
            if (index < record_keys.size()) {
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
        const bool is_record = std::ranges::find(record.seen, true) != record.seen.end();
        if (is_page && !is_record) return history_.page_ends(has_token);
        for (std::size_t i = 0; i < record_keys.size(); ++i) {
            if (record.seen[i] || record_keys[i] == "ProductDescription") continue;
            json_.fail_at(begin, fmt::format("expected the key \"{}\"", record_keys[i]));
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

    void read_member(std::size_t index, Record& record) {
        if (std::exchange(record.seen[index], true)) {
            json_.fail(fmt::format("expected \"{}\" once, found it again", record_keys[index]));
        }
        // Saved by other programs, the price is sometimes a number.
        if (record_keys[index] == "SpotPrice" && json_.peek() == JsonScanner::Kind::number) {
            record.row.value =
                Price::of(json_.decimal(9, 0, trace_price_max.raw(), expected_price));
            return;
        }
        const std::string_view text = json_.text();
        const auto fail = [&](std::string_view expected) {
            json_.fail(fmt::format("expected {}, found {}", expected, quoted(text)));
        };
        if (record_keys[index] == "AvailabilityZone") {
            record.names.zone = text;
        } else if (record_keys[index] == "InstanceType") {
            record.names.instance_type = text;
        } else if (record_keys[index] == "ProductDescription") {
            record.names.product = text;
        } else if (record_keys[index] == "SpotPrice") {
            const auto price = parse_decimal(text, 9, DecimalGrammar::relaxed);
            if (!price || *price < 0 || *price > trace_price_max.raw()) fail(expected_price);
            record.row.value = Price::of(*price);
        } else {
            const auto stamp = parse_timestamp(text);
            if (!stamp) fail(expected_stamp);
            record.row.stamp_ns = *stamp;
        }
    }

    JsonScanner& json_;
    PriceHistory& history_;
    std::uint32_t page_;
    std::size_t before_;
};

Trace read_history_pages(std::span<const TracePage> pages, const ReadOptions&) {
    PriceHistory history(pages);
    std::size_t documents = 0;
    for (std::uint32_t page = 0; page < pages.size(); ++page) {
        const std::string_view text = pages[page].text;
        for (const JsonDocument& document : json_documents(text)) {
            const auto before = static_cast<std::size_t>(document.text.data() - text.data());
            read_document(pages[page], document, [&](JsonScanner& json) {
                DocumentReader(json, history, page, before).read_value();
            });
            ++documents;
        }
    }
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
