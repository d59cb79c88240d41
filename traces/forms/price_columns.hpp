// price_columns.hpp — which column of a table of prices says what.
//
// With a header, columns are found by name; without one, each by what its first field looks like,
// and only if that is certain.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/quantity.hpp"

namespace ukemi::traces {

struct PriceLayout {
    enum Role : std::size_t { stamp, zone, type, product, price, currency, roles };

    bool has(Role role) const;
    bool names_a_market() const { return has(zone) || has(type); }

    char separator = ',';
    bool has_header = false;
    std::array<std::size_t, roles> columns{};  // CsvScanner::no_column where there is none
    bool is_unambiguous = false;               // no role twice
    // A time and a price, and nothing twice.
    bool is_certain() const { return is_unambiguous && has(stamp) && has(price); }
};

// What the first row of a table says about all of them, or, where one begins with the tag of the
// AWS command line, the first of these: a token may stand before it.
PriceLayout price_layout_of(std::string_view head);
bool is_price_tag(std::string_view field);
std::string_view first_price_row(std::string_view text);

// Whether the first row has a price and a zone or type, and no time: a `--query` that left it out.
bool has_prices_without_times(std::string_view head);

// A calendar time, or seconds or milliseconds since 1970, as data frames keep them.
std::optional<std::int64_t> price_stamp_of(std::string_view text);
// "0.31", also "$0.31".
std::optional<Price> listed_price_of(std::string_view text);

}  // namespace ukemi::traces
