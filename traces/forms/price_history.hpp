// price_history.hpp — price changes of many zones and types, from any layout, as one Trace.
//
// Rows may come in any order and from several pages. Each (zone, type) becomes a series from its
// first price to its last, because nobody saw more. Where there are several products, Linux/UNIX is
// kept, because that is what trains.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/ordered_samples.hpp"
#include "traces/reader.hpp"

namespace ukemi::traces {

class PriceHistory {
public:
    // The names are few, the rows many.
    struct Names {
        std::string zone;
        std::string instance_type;
        std::string product;
        friend auto operator<=>(const Names&, const Names&) = default;
    };

    explicit PriceHistory(std::span<const TracePage> pages) : pages_(pages) {}

    void add(Names&& names, const PlacedSample<Price>& row);
    std::int64_t rows() const { return rows_; }
    void page_ends(bool more_to_come);  // whether it says that other pages follow

    // With the series, and what was found and repaired added to `report`.
    Trace finish(ImportReport report) &&;

private:
    void keep_one_product(ImportReport& report);

    std::span<const TracePage> pages_;
    std::map<Names, std::vector<PlacedSample<Price>>> rows_by_names_;
    std::int64_t rows_ = 0;
    std::int64_t ended_pages_ = 0;
    std::int64_t pages_with_more_ = 0;
};

// One record of `aws ec2 describe-spot-price-history`, filled member by member.
class HistoryRecord {
public:
    // In this order; the first that is not there is what `missing` says.
    static constexpr std::array<std::string_view, 5> keys{
        "AvailabilityZone", "InstanceType", "SpotPrice", "Timestamp", "ProductDescription"};
    static constexpr std::size_t price_key = 2;
    static std::size_t index_of(std::string_view key);  // keys.size() for any other

    bool has(std::size_t key) const { return seen_[key]; }
    bool is_empty() const { return seen_ == decltype(seen_){}; }
    std::string_view missing() const;  // the product may be missing

    // Returns what was expected where `text` is no value of that key, else nothing.
    std::string_view set(std::size_t key, std::string_view text);
    void set_price(Price price);

    PriceHistory::Names names;
    PlacedSample<Price> row;

private:
    std::array<bool, keys.size()> seen_{};
};

}  // namespace ukemi::traces
