// layout_gathers.cpp — of LayoutPlayer: parameters that its replicas divide among themselves, the
// words that two stages have, and updates.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/invariant.hpp"
#include "sim/step/layout_player.hpp"

namespace ukemi::sim {

void LayoutPlayer::place_gathers(ClusterNetwork& network) {
    const auto gathers = [](const ModelBlock& block) { return !block.gathered.is_empty(); };
    const bool before_passes = gathers(work_.stages.front().forward.front());
    if (!before_passes && work_.updated_parts.empty()) return;
    for (std::int32_t p = 0; p < work_.degrees.pipeline; ++p) {
        std::vector<std::vector<DeviceId>> of_all;
        std::vector<std::vector<DeviceId>> of_experts;
        for (std::int32_t t = 0; t < work_.degrees.tensor; ++t) of_all.push_back(holders(t, p));
        for (std::int32_t t = 0; work_.has_expert_sets() && t < work_.expert_tensor(); ++t) {
            std::ranges::move(work_.experts_adders(job().workers, t, p),
                              std::back_inserter(of_experts));
        }
        PartGathers& placed = gathered_.emplace_back();
        place_parts(network, of_all, placed.of_all);
        place_parts(network, of_experts, placed.of_experts);
        if (!before_passes) continue;
        std::vector<DividedPart> parts;
        for (const PipelinePass& pass : passes_[static_cast<std::size_t>(p)]) {
            if (pass.weights) continue;
            INVARIANT(gathers(work_.blocks_of(pass).front()));
            for (const ModelBlock& block : work_.blocks_of(pass)) {
                if (gathers(block)) parts.push_back(block.gathered);
            }
        }
        gathers_.emplace_back(std::move(parts), work_.degrees.data, work_.prefetch);
    }
}

void LayoutPlayer::place_parts(ClusterNetwork& network,
                               std::span<const std::vector<DeviceId>> groups,
                               std::vector<PlacedCollective>& placed) {
    const auto at_once = static_cast<std::int64_t>(groups.size());
    for (const std::vector<DeviceId>& group : groups) {
        if (group.size() == 1) continue;
        placed.push_back(placed_parts(network, ExchangeKind::all_gather, job(), group, at_once));
        note_links(placed.back().links());
    }
}

// How many gathers that are.
std::size_t LayoutPlayer::send_parts(std::size_t stage_rank, const DividedPart& part,
                                     std::uint64_t token, Instant now) {
    std::size_t sent = 0;
    const auto send = [&](const std::vector<PlacedCollective>& placed, Bytes bytes) {
        if (bytes == Bytes{}) return;
        for (const PlacedCollective& one : placed) {
            host().send(*this, one, bytes, now + job().launch.overhead, token);
        }
        sent += placed.size();
    };
    send(gathered_[stage_rank].of_all, part.of_all);
    send(gathered_[stage_rank].of_experts, part.of_experts);
    return sent;
}

bool LayoutPlayer::waits_for_parameters(std::size_t index, const ModelBlock& block, Instant now) {
    Cell& cell = cells_[index];
    if (block.gathered.is_empty() || gathers_.empty()) return false;
    if (gathers_[static_cast<std::size_t>(cell.stage_rank)].is_there(cell.unit)) return false;
    cell.state = State::gathering;
    cell.since = now;
    return true;
}

// The unit before it is over.
void LayoutPlayer::come_to_unit(Cell& cell, Instant now) {
    if (gathers_.empty()) return;
    gathers_[static_cast<std::size_t>(cell.stage_rank)].come_to(++cell.unit);
    start_gather(cell.stage_rank, now);
}

void LayoutPlayer::start_gather(std::int32_t stage_rank, Instant now) {
    const auto number = static_cast<std::size_t>(stage_rank);
    const std::optional<DividedPart> part = gathers_[number].take();
    if (!part) return;
    gathers_left_[number] = send_parts(number, *part, token_of(LayoutToken::gathered, number), now);
    note_sending(number, now);
}

void LayoutPlayer::gather_arrived(std::int32_t stage_rank, Instant now) {
    const auto number = static_cast<std::size_t>(stage_rank);
    if (--gathers_left_[number] > 0) return;
    gathers_[number].arrived();
    start_gather(stage_rank, now);
    note_sending(number, now);
    for (std::int32_t replica = 0; replica < work_.degrees.data; ++replica) {
        const std::size_t index = index_of(replica, stage_rank);
        Cell& cell = cells_[index];
        if (cell.state != State::gathering || !gathers_[number].is_there(cell.unit)) continue;
        count_exchange(cell, now - cell.since);
        note_span(cell, "gather", cell.since, now);
        begin_block(index, now);
    }
}

void LayoutPlayer::place_words(ClusterNetwork& network) {
    if (work_.words == Bytes{}) return;
    for (std::int32_t d = 0; d < work_.degrees.data; ++d) {
        const std::vector<DeviceId> first = cell_workers(d, 0);
        const std::vector<DeviceId> last = cell_workers(d, work_.degrees.pipeline - 1);
        for (std::size_t i = 0; i < first.size(); ++i) {
            const std::array both = {first[i], last[i]};
            words_.push_back(placed_exchange(network, ExchangeKind::all_reduce, job(), both));
        }
    }
}

void LayoutPlayer::add_up_words(Instant now) {
    words_at_ = now;
    words_left_ = words_.size();
    for (const PlacedCollective& one : words_) {
        host().send(*this, one, work_.words, now + job().launch.overhead,
                    token_of(LayoutToken::words, 0));
    }
    if (words_.empty()) update(now);
}

void LayoutPlayer::words_arrived(Instant now) {
    if (--words_left_ > 0) return;
    sums_.sending += static_cast<std::int64_t>(job().workers.size()) * (now - words_at_);
    for (const Cell& cell : cells_) note_span(cell, "add up the words", words_at_, now);
    update(now);
}

// Every worker its own parameters; the step ends with the slowest.
void LayoutPlayer::update(Instant now) {
    const std::vector<double>& shares = work_.update_shares;
    if (job().update.empty() || shares.empty()) return updated(now);
    Duration longest;
    Duration all;
    for (std::int32_t p = 0; p < work_.degrees.pipeline; ++p) {
        const double share = shares[static_cast<std::size_t>(p)];
        for (std::int32_t i = 0; i < work_.cell() * work_.degrees.data; ++i) {
            const auto rank = static_cast<std::size_t>(work_.rank(i, 0, p));
            const Duration own =
                Duration::of(round_nearest(share * static_cast<double>(job().update[rank].raw())));
            longest = std::max(longest, own);
            all += own;
        }
    }
    sums_.compute += all;
    sums_.straggler += static_cast<std::int64_t>(job().workers.size()) * longest - all;
    for (const Cell& cell : cells_) note_span(cell, "update", now, now + longest);
    host().wake(*this, now + longest, token_of(LayoutToken::updated, 0));
}

// Replicas that have updated a part each give it to the others.
void LayoutPlayer::updated(Instant now) {
    updated_at_ = now;
    for (std::size_t p = 0; p < work_.updated_parts.size(); ++p) {
        updates_left_ +=
            send_parts(p, work_.updated_parts[p], token_of(LayoutToken::shared, 0), now);
    }
    if (updates_left_ == 0) end_step(now);
}

void LayoutPlayer::update_arrived(Instant now) {
    if (--updates_left_ > 0) return;
    sums_.sending += static_cast<std::int64_t>(job().workers.size()) * (now - updated_at_);
    for (const Cell& cell : cells_) note_span(cell, "gather parameters", updated_at_, now);
    end_step(now);
}

}  // namespace ukemi::sim
