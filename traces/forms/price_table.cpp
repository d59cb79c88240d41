// price_table.cpp — price histories as rows of text, in whatever columns they were saved.
//
// aws_price_history_csv: any CSV, TSV or semicolon table with a time and a price and, mostly, a
// zone, an instance type and a product. With a header, columns are found by name; without one, each
// by what its first field looks like, and only if that is certain.
// aws_price_history_text: lines of the AWS command line (`--output text`), each with a tag.
// stamped_price_csv: a header with a time and a price and nothing else that names a market.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/forms/price_history.hpp"

namespace ukemi::traces {

namespace {

enum Role : std::size_t { stamp, zone, type, product, price, roles };
constexpr std::string_view tag_now = "SPOTPRICEHISTORY";
constexpr std::string_view tag_before_2013 = "SPOTINSTANCEPRICE";
constexpr std::string_view tag_of_next_page = "NEXTTOKEN";

using Columns = std::array<std::size_t, roles>;  // CsvScanner::no_column where there is none
constexpr Columns no_columns{CsvScanner::no_column, CsvScanner::no_column, CsvScanner::no_column,
                             CsvScanner::no_column, CsvScanner::no_column};

// "AvailabilityZone", "availability_zone" and "Availability Zone" are one name.
std::string plain_name(std::string_view name) {
    std::string plain;
    for (const char c : name) {
        if (c >= 'A' && c <= 'Z') plain += static_cast<char>(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) plain += c;
    }
    return plain;
}

std::optional<Role> role_of_name(std::string_view name) {
    static constexpr std::array<std::pair<std::string_view, Role>, 33> known{{
        {"timestamp", stamp},
        {"timestamputc", stamp},
        {"time", stamp},
        {"timeutc", stamp},
        {"date", stamp},
        {"datetime", stamp},
        {"datetimeutc", stamp},
        {"dateutc", stamp},
        {"createtimestamp", stamp},
        {"availabilityzone", zone},
        {"availabilityzoneid", zone},
        {"az", zone},
        {"azid", zone},
        {"zone", zone},
        {"zoneid", zone},
        {"instancetype", type},
        {"instance", type},
        {"type", type},
        {"vmtype", type},
        {"machinetype", type},
        {"productdescription", product},
        {"product", product},
        {"os", product},
        {"operatingsystem", product},
        {"spotprice", price},
        {"price", price},
        {"priceusdperh", price},
        {"priceusd", price},
        {"usdperhour", price},
        {"usdperh", price},
        {"spotpriceusd", price},
        {"spotpriceusdperh", price},
        {"priceperhour", price},
    }};
    const std::string plain = plain_name(name);
    const auto found = std::ranges::find(known, plain, &std::pair<std::string_view, Role>::first);
    if (found == known.end()) return std::nullopt;
    return found->second;
}

// "us-east-1a", "us-east-1", "us-gov-west-1b", "us-west-2-lax-1a", or an id such as "use1-az4".
bool looks_like_zone(std::string_view text) {
    const std::size_t first = text.find('-');
    if (first == std::string_view::npos || first < 2 || text.size() > 40) return false;
    const bool characters = std::ranges::all_of(
        text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
    const bool has_digit = text.find_first_of("0123456789") != std::string_view::npos;
    return characters && has_digit && text.front() >= 'a' && text.front() <= 'z';
}

// "p3.2xlarge", "u-6tb1.metal".
bool looks_like_type(std::string_view text) {
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos || dot == 0 || dot + 1 == text.size()) return false;
    const bool family = text.front() >= 'a' && text.front() <= 'z';
    const bool rest = std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    });
    return family && rest && text.find('.', dot + 1) == std::string_view::npos;
}

bool looks_like_product(std::string_view text) {
    for (const std::string_view name :
         {"Linux/UNIX", "Linux", "Windows", "SUSE", "Red Hat", "RHEL", "UNIX"}) {
        if (text.starts_with(name)) return true;
    }
    return false;
}

// Also seconds or milliseconds since 1970, as data frames keep them; to the end of 2199, where
// calendar times end, too.
std::optional<std::int64_t> stamp_of(std::string_view text) {
    constexpr std::int64_t year_2200_s = 7'258'118'400;
    if (text.size() == 10 || text.size() == 13) {
        const std::int64_t per_second = text.size() == 10 ? 1 : 1000;
        const auto ticks = parse_whole(text, DecimalGrammar::relaxed);
        if (ticks && *ticks > 0 && *ticks < year_2200_s * per_second) {
            return *ticks * (1'000'000'000 / per_second);
        }
    }
    return parse_timestamp(text);
}

std::string_view without_dollar(std::string_view text) {
    if (text.starts_with('$')) text.remove_prefix(1);
    return text;
}

std::optional<Role> role_of_value(std::string_view text) {
    if (stamp_of(text)) return stamp;
    if (text.find('.') != std::string_view::npos &&
        parse_decimal(without_dollar(text), 9, DecimalGrammar::relaxed)) {
        return price;
    }
    if (looks_like_type(text)) return type;
    if (looks_like_zone(text)) return zone;
    if (looks_like_product(text)) return product;
    return std::nullopt;
}

struct Layout {
    char separator = ',';
    bool has_header = false;
    Columns columns = no_columns;
    bool is_certain = false;  // a time and a price, and nothing twice
};

char separator_of(std::string_view row) {
    for (const char c : {'\t', ';'}) {
        if (row.find(c) != std::string_view::npos) return c;
    }
    return ',';
}

bool is_tag(std::string_view field) { return field == tag_now || field == tag_before_2013; }

// The first row, or the first with a tag where there is one: a token may stand before it.
std::string_view telling_row(std::string_view text) {
    const std::string_view head = text.substr(0, 4096);
    for (std::string_view rest = head; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        if (is_tag(line.substr(0, line.find('\t')))) return line.substr(0, line.find('\r'));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return first_row(head);
}

// A price written without a point, if nothing else could be one.
void find_whole_price(const CsvScanner& csv, Layout& layout) {
    if (layout.has_header || layout.columns[price] != CsvScanner::no_column) return;
    std::size_t candidates = 0;
    for (std::size_t i = 0; i < csv.header_columns(); ++i) {
        if (stamp_of(csv.header(i)) || !parse_decimal(csv.header(i), 9, DecimalGrammar::relaxed)) {
            continue;
        }
        layout.columns[price] = i;
        ++candidates;
    }
    if (candidates > 1) layout.is_certain = false;
}

// What the first row says about all of them.
Layout layout_of(std::string_view head) {
    Layout layout;
    const std::string_view row = telling_row(head);
    layout.separator = separator_of(row);
    CsvScanner csv(row.substr(0, first_invalid_utf8(row)), "", layout.separator);
    try {
        csv.read_header();
    } catch (const InputError&) {  // an open quote: the reader itself will say so
        return layout;
    }
    layout.has_header = true;
    for (std::size_t i = 0; i < csv.header_columns(); ++i) {
        if (stamp_of(csv.header(i))) layout.has_header = false;
    }
    layout.is_certain = true;
    for (std::size_t i = 0; i < csv.header_columns(); ++i) {
        const auto role =
            layout.has_header ? role_of_name(csv.header(i)) : role_of_value(csv.header(i));
        if (!role) continue;
        // A zone's name and its id: the name, which stands first or is called so.
        const bool taken = layout.columns[*role] != CsvScanner::no_column;
        if (taken && !(layout.has_header && *role == zone)) layout.is_certain = false;
        if (!taken || !plain_name(csv.header(i)).ends_with("id")) layout.columns[*role] = i;
    }
    find_whole_price(csv, layout);
    layout.is_certain = layout.is_certain && layout.columns[stamp] != CsvScanner::no_column &&
                        layout.columns[price] != CsvScanner::no_column;
    return layout;
}

bool names_a_market(const Layout& layout) {
    return layout.columns[zone] != CsvScanner::no_column ||
           layout.columns[type] != CsvScanner::no_column;
}

bool recognises_text(std::string_view head, const std::filesystem::path&) {
    const std::string_view row = telling_row(head);
    return is_tag(row.substr(0, row.find('\t')));
}

// Reads the rows of one page.
class PageReader {
public:
    PageReader(const TracePage& page, std::uint32_t index, PriceHistory& history)
        : layout_(layout_of(page.text)),
          name_(page.file.string()),
          csv_text_(page.text),
          csv_(page.text, name_, layout_.separator),
          index_(index),
          history_(history) {}

    void read(ImportReport& report) {
        if (!layout_.is_certain) fail_layout();
        while (!csv_.comment().empty()) {
        }
        if (layout_.has_header) {
            csv_.read_header();
            for (std::size_t role = 0; role < roles; ++role) {
                const std::size_t column = layout_.columns[role];
                if (column != CsvScanner::no_column) csv_.column(csv_.header(column));
            }
        }
        const bool is_tagged = recognises_text(csv_text_, {});
        bool more = false;
        while (layout_.has_header ? csv_.next_row() : csv_.next_row(1, 100)) {
            if (csv_.field(0) == tag_of_next_page) {
                more = csv_.columns() > 1 && csv_.field(1) != "None";
            } else if (is_tagged && csv_.columns() == 1) {
                more = true;  // a bare token
            } else {
                read_row();
            }
        }
        history_.page_ends(more);
        ImportReport page;
        csv_.add_to(page);
        add_notes(report.notes, page.notes);
        add_notes(report.repairs, page.repairs);
    }

private:
    [[noreturn]] void fail_layout() {
        if (csv_.next_row(1, 1'000'000)) {
            csv_.fail_here("expected one column of times and one of prices, by name or by value");
        }
        csv_.fail_here("expected rows of prices, found none");
    }

    std::string text_of(Role role) const {
        const std::size_t column = layout_.columns[role];
        return column == CsvScanner::no_column ? std::string() : std::string(csv_.field(column));
    }

    void read_row() {
        std::size_t columns_min = 0;
        for (std::size_t role = 0; role < roles; ++role) {
            const std::size_t column = layout_.columns[role];
            if (column == CsvScanner::no_column) continue;
            columns_min = std::max(columns_min, column + 1);
        }
        if (csv_.columns() < columns_min) {
            csv_.fail_here(
                fmt::format("expected {} columns, found {}", columns_min, csv_.columns()));
        }
        PlacedSample<Price> row;
        row.offset = csv_.row_offset();
        row.page = index_;
        const auto at = stamp_of(csv_.field(layout_.columns[stamp]));
        if (!at) {
            csv_.fail(layout_.columns[stamp],
                      "a time such as 2023-02-15 22:08:16 (years 1970 to 2199)");
        }
        row.stamp_ns = *at;
        const auto value = parse_decimal(without_dollar(csv_.field(layout_.columns[price])), 9,
                                         DecimalGrammar::relaxed);
        if (!value || *value < 0 || *value > trace_price_max.raw()) {
            csv_.fail(layout_.columns[price], expected_price);
        }
        row.value = Price::of(*value);
        history_.add({text_of(zone), text_of(type), text_of(product)}, row);
    }

    Layout layout_;
    std::string name_;
    std::string_view csv_text_;
    CsvScanner csv_;
    std::uint32_t index_;
    PriceHistory& history_;
};

Trace read_table_pages(std::span<const TracePage> pages, const ReadOptions&) {
    PriceHistory history(pages);
    ImportReport report;
    for (std::uint32_t page = 0; page < pages.size(); ++page) {
        PageReader(pages[page], page, history).read(report);
    }
    if (pages.size() > 1) report.notes.push_back(fmt::format("{} pages", pages.size()));
    return std::move(history).finish(std::move(report));
}

Trace read_table(std::string_view text, const std::filesystem::path& file,
                 const ReadOptions& options) {
    const TracePage page{text, file};
    return read_table_pages({&page, 1}, options);
}

bool recognises_table(std::string_view head, const std::filesystem::path&) {
    if (begins_json(head)) return false;
    const Layout layout = layout_of(head);
    return layout.is_certain && names_a_market(layout);
}

bool recognises_stamped(std::string_view head, const std::filesystem::path&) {
    if (begins_json(head)) return false;
    const Layout layout = layout_of(head);
    return layout.is_certain && layout.has_header && !names_a_market(layout);
}

}  // namespace

TraceForm aws_price_history_csv_form() {
    return {"aws_price_history_csv",
            "price changes of zones and types as rows: time, zone, type, product, price",
            recognises_table, read_table, read_table_pages};
}

TraceForm aws_price_history_text_form() {
    return {"aws_price_history_text",
            "the same as `--output text`: SPOTPRICEHISTORY, zone, type, …", recognises_text,
            read_table, read_table_pages};
}

TraceForm stamped_price_form() {
    return {"stamped_price_csv", "price changes of one market: timestamp_utc,price_usd_per_h",
            recognises_stamped, read_table, read_table_pages};
}

}  // namespace ukemi::traces
