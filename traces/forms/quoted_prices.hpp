// quoted_prices.hpp — answers of price catalogues, which say what an instance costs now and since
// when, as one Trace.
//
// Each price is listed as it was said last. Where several moments were said of one region and type
// (answers of several days, read together), the spot prices are a series, too: each holds until
// the next, and the last one at its moment, because nobody saw more.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "traces/ordered_samples.hpp"
#include "traces/reader.hpp"

namespace ukemi::traces {

struct QuotedName {
    std::string region;
    std::string instance_type;
    friend auto operator<=>(const QuotedName&, const QuotedName&) = default;
};

class QuotedPrices {
public:
    explicit QuotedPrices(std::span<const TracePage> pages) : pages_(pages) {}

    void add(const QuotedName& name, bool is_spot, const PlacedSample<Price>& row);
    void leave_out() { ++left_out_; }
    void page_ends(bool more_to_come);  // whether it says that other pages follow

    // With what was found added to `report`; `what` is left out: "Windows, reservations and the
    // like". Complains if there is no price at all.
    Trace finish(ImportReport report, std::string_view what) &&;

private:
    struct Rows {
        std::vector<PlacedSample<Price>> spot;
        std::vector<PlacedSample<Price>> on_demand;
    };

    std::span<const TracePage> pages_;
    std::map<QuotedName, Rows> rows_;
    std::int64_t count_ = 0;
    std::int64_t left_out_ = 0;
    std::int64_t ended_pages_ = 0;
    std::int64_t pages_with_more_ = 0;
};

}  // namespace ukemi::traces
