// price_table.cpp — price histories as rows of text, in whatever columns they were saved.
//
// aws_price_history_csv: any CSV, TSV or semicolon table with a time and a price and, mostly, a
// zone, an instance type and a product.
// aws_price_history_text: lines of the AWS command line (`--output text`), each with a tag.
// aws_price_history_table: its boxes (`--output table`), or another table with bars.
// stamped_price_csv: a header with a time and a price and nothing else that names a market.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "traces/csv_scanner.hpp"
#include "traces/forms/bar_table.hpp"
#include "traces/forms/forms.hpp"
#include "traces/forms/price_columns.hpp"
#include "traces/forms/price_history.hpp"
#include "traces/limits.hpp"

namespace ukemi::traces {

namespace {

constexpr std::string_view tag_of_next_page = "NEXTTOKEN";

bool recognises_text(std::string_view head, const std::filesystem::path&) {
    const std::string_view row = first_price_row(head);
    return is_price_tag(row.substr(0, row.find('\t')));
}

// Reads the rows of one page, which may be written between bars.
class PageReader {
    using Role = PriceLayout::Role;

public:
    PageReader(const TracePage& page, std::uint32_t index, PriceHistory& history)
        : has_bars_(begins_bar_table(page.text)),
          table_(has_bars_ ? rows_of_bar_table(page.text) : BarTable{}),
          text_(has_bars_ ? std::string_view(table_.rows) : page.text),
          layout_(price_layout_of(text_)),
          name_(page.file.string()),
          csv_(text_, name_, layout_.separator),
          index_(index),
          history_(history) {}
    PageReader(const PageReader&) = delete;
    PageReader& operator=(const PageReader&) = delete;

    void read(ImportReport& report) {
        if (!layout_.is_certain()) fail_layout();
        while (!csv_.comment().empty()) {
        }
        if (layout_.has_header) {
            csv_.read_header();
            for (const std::size_t column : layout_.columns) {
                if (column != CsvScanner::no_column) csv_.column(csv_.header(column));
            }
        }
        const bool is_tagged = recognises_text(text_, {});
        bool more = table_.names_next_page;
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
        if (!has_bars_) add_notes(report.repairs, page.repairs);  // rules are blank lines there
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
        for (const std::size_t column : layout_.columns) {
            if (column != CsvScanner::no_column) columns_min = std::max(columns_min, column + 1);
        }
        if (csv_.columns() < columns_min) {
            csv_.fail_here(
                fmt::format("expected {} columns, found {}", columns_min, csv_.columns()));
        }
        PlacedSample<Price> row;
        row.offset = csv_.row_offset();
        row.page = index_;
        const auto at = price_stamp_of(csv_.field(layout_.columns[Role::stamp]));
        if (!at) {
            csv_.fail(layout_.columns[Role::stamp],
                      "a time such as 2023-02-15 22:08:16 (years 1970 to 2199)");
        }
        row.stamp_ns = *at;
        const auto value = listed_price_of(csv_.field(layout_.columns[Role::price]));
        if (!value) csv_.fail(layout_.columns[Role::price], expected_price);
        row.value = *value;
        if (layout_.has(Role::currency) && text_of(Role::currency) != "USD") {
            csv_.fail(layout_.columns[Role::currency], expected_currency);
        }
        history_.add({text_of(Role::zone), text_of(Role::type), text_of(Role::product)}, row);
    }

    bool has_bars_;
    BarTable table_;
    std::string_view text_;
    PriceLayout layout_;
    std::string name_;
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
    const PriceLayout layout = price_layout_of(head);
    return layout.is_certain() && layout.names_a_market();
}

bool recognises_stamped(std::string_view head, const std::filesystem::path&) {
    if (begins_json(head)) return false;
    const PriceLayout layout = price_layout_of(head);
    return layout.is_certain() && layout.has_header && !layout.names_a_market();
}

bool recognises_bars(std::string_view head, const std::filesystem::path&) {
    return begins_bar_table(head) && price_layout_of(rows_of_bar_table(head).rows).is_certain();
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

TraceForm aws_price_history_table_form() {
    return {"aws_price_history_table", "the same as `--output table`: rows between bars",
            recognises_bars, read_table, read_table_pages};
}

TraceForm stamped_price_form() {
    return {"stamped_price_csv", "price changes of one market: timestamp_utc,price_usd_per_h",
            recognises_stamped, read_table, read_table_pages};
}

}  // namespace ukemi::traces
