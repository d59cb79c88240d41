#include "sim/market/transfer.hpp"

namespace ukemi::sim {

bool matches_pattern(std::string_view pattern, std::string_view text) {
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos) return pattern == text;
    if (!text.starts_with(pattern.substr(0, star))) return false;
    const std::string_view rest = pattern.substr(star + 1);
    for (std::size_t begin = star; begin <= text.size(); ++begin) {
        if (matches_pattern(rest, text.substr(begin))) return true;
    }
    return false;
}

Move move_between(const TransferRules& rules, std::string_view from, std::string_view to) {
    if (from == to) return {};
    for (const TransferRow& row : rules.rows) {
        const bool there = matches_pattern(row.from, from) && matches_pattern(row.to, to);
        const bool back =
            row.both_ways && matches_pattern(row.from, to) && matches_pattern(row.to, from);
        if (!there && !back) continue;
        Move move;
        move.cost = row.price * rules.size;
        if (row.bandwidth.raw() > 0) move.time = rules.size / row.bandwidth;
        return move;
    }
    return {};
}

}  // namespace ukemi::sim
