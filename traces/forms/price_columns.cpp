// price_columns.cpp — roles by the names that tools give their columns, or by what a value looks
// like.
#include "traces/forms/price_columns.hpp"

#include <algorithm>
#include <utility>

#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

using Role = PriceLayout::Role;

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
    static constexpr std::array<std::pair<std::string_view, Role>, 38> known{{
        {"timestamp", Role::stamp},
        {"timestamputc", Role::stamp},
        {"time", Role::stamp},
        {"timeutc", Role::stamp},
        {"date", Role::stamp},
        {"datetime", Role::stamp},
        {"datetimeutc", Role::stamp},
        {"dateutc", Role::stamp},
        {"createtimestamp", Role::stamp},
        {"when", Role::stamp},
        {"effectivestartdate", Role::stamp},
        {"availabilityzone", Role::zone},
        {"availabilityzoneid", Role::zone},
        {"az", Role::zone},
        {"azid", Role::zone},
        {"zone", Role::zone},
        {"zoneid", Role::zone},
        {"instancetype", Role::type},
        {"instance", Role::type},
        {"type", Role::type},
        {"vmtype", Role::type},
        {"machinetype", Role::type},
        {"productdescription", Role::product},
        {"product", Role::product},
        {"os", Role::product},
        {"operatingsystem", Role::product},
        {"spotprice", Role::price},
        {"price", Role::price},
        {"priceusdperh", Role::price},
        {"priceusd", Role::price},
        {"usdperhour", Role::price},
        {"usdperh", Role::price},
        {"spotpriceusd", Role::price},
        {"spotpriceusdperh", Role::price},
        {"priceperhour", Role::price},
        {"currency", Role::currency},
        {"currencycode", Role::currency},
        {"billingcurrency", Role::currency},
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

// "use1-az4", "usw2-lax1-az1": the id that accounts share, where the name is an account's own.
bool looks_like_zone_id(std::string_view text) {
    const std::size_t at = text.rfind("-az");
    if (at == std::string_view::npos || at + 3 == text.size() || !looks_like_zone(text)) {
        return false;
    }
    return text.substr(at + 3).find_first_not_of("0123456789") == std::string_view::npos;
}

bool looks_like_product(std::string_view text) {
    for (const std::string_view name :
         {"Linux/UNIX", "Linux", "Windows", "SUSE", "Red Hat", "RHEL", "UNIX"}) {
        if (text.starts_with(name)) return true;
    }
    return false;
}

std::optional<std::int64_t> number_in(std::string_view text) {
    if (text.starts_with('$')) text.remove_prefix(1);
    return parse_decimal(text, 9, DecimalGrammar::relaxed);
}

std::optional<Role> role_of_value(std::string_view text) {
    if (price_stamp_of(text)) return Role::stamp;
    if (text.find('.') != std::string_view::npos && number_in(text)) return Role::price;
    if (looks_like_type(text)) return Role::type;
    if (looks_like_zone(text)) return Role::zone;
    if (looks_like_product(text)) return Role::product;
    return std::nullopt;
}

char separator_of(std::string_view row) {
    for (const char c : {'\t', ';'}) {
        if (row.find(c) != std::string_view::npos) return c;
    }
    return ',';
}

// A price written without a point, if nothing else could be one.
void find_whole_price(const CsvScanner& csv, PriceLayout& layout) {
    if (layout.has_header || layout.has(Role::price)) return;
    std::size_t candidates = 0;
    for (std::size_t i = 0; i < csv.header_columns(); ++i) {
        if (price_stamp_of(csv.header(i)) || !number_in(csv.header(i))) continue;
        layout.columns[Role::price] = i;
        ++candidates;
    }
    if (candidates > 1) layout.is_unambiguous = false;
}

// Gives each column of the first row its role.
void find_roles(const CsvScanner& csv, PriceLayout& layout) {
    layout.columns.fill(CsvScanner::no_column);
    layout.is_unambiguous = true;
    for (std::size_t i = 0; i < csv.header_columns(); ++i) {
        const std::string_view text = csv.header(i);
        const auto role = layout.has_header ? role_of_name(text) : role_of_value(text);
        if (!role) continue;
        // A zone's name and its id stand side by side: the name is kept.
        const bool is_id = layout.has_header
                               ? *role == Role::zone && plain_name(text).ends_with("id")
                               : looks_like_zone_id(text);
        const bool taken = layout.has(*role);
        const bool beside_id =
            taken && *role == Role::zone &&
            (layout.has_header || is_id || looks_like_zone_id(csv.header(layout.columns[*role])));
        if (taken && !beside_id) layout.is_unambiguous = false;
        if (!taken || !is_id) layout.columns[*role] = i;
    }
    find_whole_price(csv, layout);
}

}  // namespace

bool PriceLayout::has(Role role) const { return columns[role] != CsvScanner::no_column; }

std::optional<std::int64_t> price_stamp_of(std::string_view text) {
    constexpr std::int64_t year_2200_s = 7'258'118'400;  // where calendar times end, too
    if (text.size() == 10 || text.size() == 13) {
        const std::int64_t per_second = text.size() == 10 ? 1 : 1000;
        const auto ticks = parse_whole(text, DecimalGrammar::relaxed);
        if (ticks && *ticks > 0 && *ticks < year_2200_s * per_second) {
            return *ticks * (1'000'000'000 / per_second);
        }
    }
    return parse_timestamp(text);
}

std::optional<Price> listed_price_of(std::string_view text) {
    const auto value = number_in(text);
    if (!value || *value < 0 || *value > trace_price_max.raw()) return std::nullopt;
    return Price::of(*value);
}

bool is_price_tag(std::string_view field) {
    return field == "SPOTPRICEHISTORY" || field == "SPOTINSTANCEPRICE";  // now, and before 2013
}

std::string_view first_price_row(std::string_view text) {
    const std::string_view head = text.substr(0, 4096);
    for (std::string_view rest = head; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        if (is_price_tag(line.substr(0, line.find('\t')))) return line.substr(0, line.find('\r'));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return first_row(head);
}

PriceLayout price_layout_of(std::string_view head) {
    PriceLayout layout;
    layout.columns.fill(CsvScanner::no_column);
    const std::string_view row = first_price_row(head);
    layout.separator = separator_of(row);
    CsvScanner csv(row.substr(0, first_invalid_utf8(row)), "", layout.separator);
    try {
        csv.read_header();
    } catch (const InputError&) {  // an open quote: the reader itself will say so
        return layout;
    }
    layout.has_header = true;
    for (std::size_t i = 0; i < csv.header_columns(); ++i) {
        if (price_stamp_of(csv.header(i))) layout.has_header = false;
    }
    find_roles(csv, layout);
    return layout;
}

bool has_prices_without_times(std::string_view head) {
    if (begins_json(head)) return false;
    PriceLayout layout = price_layout_of(head);
    if (layout.has(Role::stamp) || !layout.is_unambiguous) return false;
    if (layout.has(Role::price)) return layout.names_a_market();
    const std::string_view row = first_price_row(head);
    bool price = false;
    bool market = false;
    for (const std::string& field : first_fields(row, layout.separator)) {
        const auto role = role_of_value(field);
        price = price || role == Role::price;
        market = market || role == Role::zone || role == Role::type;
    }
    return price && market;
}

}  // namespace ukemi::traces
