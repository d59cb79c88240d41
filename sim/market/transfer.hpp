// transfer.hpp — what it takes to bring a model from one place to another.
//
// Within a region it costs nothing and takes no time. Between two, the first row of the table whose
// patterns match them says what a byte costs and how fast it goes. (Egress by pair of regions and a
// transfer time out of size and bandwidth: SkyNomad's migration model.)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::sim {

struct TransferRow {
    std::string from = "*";  // a region; '*' stands for any text
    std::string to = "*";
    EgressPrice price;
    BytesPerSecond bandwidth;  // zero: takes no time
    bool both_ways = true;
};

struct TransferRules {
    Bytes size;  // of what is moved: the model and its optimizer's state
    std::vector<TransferRow> rows;
};

struct Move {
    Dollars cost;
    Duration time;
    friend bool operator==(const Move&, const Move&) = default;
};
// Free and at once if no row matches. Rounded up to the nano-dollar and the nanosecond.
Move move_between(const TransferRules& rules, std::string_view from, std::string_view to);

bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace ukemi::sim
