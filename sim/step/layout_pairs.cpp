// layout_pairs.cpp — of LayoutPlayer: a forward and a backward pass side by side.
//
// Both inputs must be there. Blocks of the two take turns, each pass having computed about the same
// share of itself; what a block of one exchanges is on its way while the other computes, and must
// be over before the next one of its own. A cell waits when whose turn it is still sends.
#include <algorithm>

#include "base/invariant.hpp"
#include "sim/step/layout_player.hpp"

namespace ukemi::sim {

const PipelinePass& LayoutPlayer::pass_of_pair(const Cell& cell, std::size_t of) const {
    return passes_[static_cast<std::size_t>(cell.stage_rank)][cell.pass + of];
}

const std::vector<LayoutPlayer::Turn>& LayoutPlayer::turns_of(const Cell& cell) {
    const PipelinePass& ahead = pass_of_pair(cell, 0);
    const PipelinePass& back = pass_of_pair(cell, 1);
    std::vector<Turn>& turns = turns_[{ahead.stage, back.stage}];
    if (!turns.empty()) return turns;
    const std::array<const std::vector<ModelBlock>*, 2> blocks = {&work_.blocks_of(ahead),
                                                                  &work_.blocks_of(back)};
    std::array<double, 2> whole{};
    for (std::size_t of = 0; of < 2; ++of) {
        for (const ModelBlock& block : *blocks[of]) whole[of] += block.share;
    }
    std::array<std::size_t, 2> next{};
    std::array<double, 2> done{};
    while (next[0] < blocks[0]->size() || next[1] < blocks[1]->size()) {
        const bool over = next[0] == blocks[0]->size();
        const bool other_over = next[1] == blocks[1]->size();
        const std::size_t of = over || (!other_over && done[1] < done[0]) ? 1 : 0;
        done[of] += whole[of] > 0 ? (*blocks[of])[next[of]].share / whole[of] : 1;
        turns.push_back({of, next[of]++});
    }
    return turns;
}

void LayoutPlayer::begin_pair(std::size_t index, Instant now) {
    Cell& cell = cells_[index];
    const PipelinePass& ahead = pass_of_pair(cell, 0);
    const PipelinePass& back = pass_of_pair(cell, 1);
    INVARIANT(ahead.forward && work_.gives_gradients(back) && !back.weights);
    const Input* latest = nullptr;
    for (const PipelinePass* pass : {&ahead, &back}) {
        const Input* input = input_of(cell, *pass);
        if (input == nullptr) continue;
        if (input->arrived == Instant::never()) return;
        if (latest == nullptr || input->arrived > latest->arrived) latest = input;
    }
    count_wait(cell, latest, now);
    cell.pass_begin = now;
    cell.pair = true;
    cell.turn = 0;
    cell.sending = {};
    for (std::vector<std::size_t>& ready : cell.buckets_ready) ready[chunk_of(back)] = 0;
    cell.launched = std::max(cell.launched, now);
    take_turn(index, now);
}

void LayoutPlayer::take_turn(std::size_t index, Instant now) {
    Cell& cell = cells_[index];
    const std::vector<Turn>& turns = turns_of(cell);
    const bool over = cell.turn == turns.size();
    const bool waits =
        over ? cell.sending[0] || cell.sending[1] : cell.sending[turns[cell.turn].of];
    if (waits) {
        cell.state = State::exchanging;
        cell.since = now;
        return;
    }
    if (over) {
        cell.pair = false;
        ++cell.pass;
        cell.since = now;
        const bool last = ++cell.pass == passes_[static_cast<std::size_t>(cell.stage_rank)].size();
        INVARIANT(!last);  // weights' gradients are
        cell.state = State::waiting;
        return try_pass(index, now);
    }
    const Turn& turn = turns[cell.turn];
    compute(index, work_.blocks_of(pass_of_pair(cell, turn.of))[turn.block], now);
    host().wake(*this, cell.until, token_of(LayoutToken::computed, index));
}

void LayoutPlayer::pair_computed(std::size_t index, Instant now) {
    Cell& cell = cells_[index];
    const Turn turn = turns_of(cell)[cell.turn++];
    const PipelinePass& pass = pass_of_pair(cell, turn.of);
    const ModelBlock& block = work_.blocks_of(pass)[turn.block];
    gradients_ready(cell, pass, block, now);
    send_of_pair(index, turn.of, block, now);
    if (!cells_[index].sending[turn.of]) end_if_last(index, turn.of, now);
    take_turn(index, now);
}

void LayoutPlayer::send_of_pair(std::size_t index, std::size_t of, const ModelBlock& block,
                                Instant now) {
    Cell& cell = cells_[index];
    if (!block.exchange || block.bytes == Bytes{}) return;
    const ExchangeKind kind = *block.exchange;
    if (kind == ExchangeKind::tensor_all_reduce) {
        INVARIANT(tensor_[index].size() == 1);  // no context groups
        cell.sending[of] = true;
        return host().send(*this, tensor_[index].front(), block.bytes, now + job().launch.overhead,
                           token_of(LayoutToken::pair_sent, 2 * index + of));
    }
    INVARIANT(kind == ExchangeKind::token_all_to_all);
    cell.sending[of] = true;
    const std::size_t number = meeting_of(cell, kind) + of * cells_.size();
    met_[number].replicas = replicas_that_meet(kind);
    if (++met_[number].there < met_[number].replicas) return;
    start_meeting(number, kind, block.bytes, now);
}

// What a block of this pass has sent is there.
void LayoutPlayer::pair_sent(std::size_t index, std::size_t of, Instant now) {
    Cell& cell = cells_[index];
    cell.sending[of] = false;
    end_if_last(index, of, now);
    if (cell.state != State::exchanging) return;
    sums_.exchange += work_.cell() * (now - cell.since);
    note_span(cell, "exchange", cell.since, now);
    take_turn(index, now);
}

void LayoutPlayer::end_if_last(std::size_t index, std::size_t of, Instant now) {
    const Cell& cell = cells_[index];
    const std::vector<Turn>& turns = turns_of(cell);
    const auto rest = std::span(turns).subspan(cell.turn);
    if (std::ranges::any_of(rest, [&](const Turn& turn) { return turn.of == of; })) return;
    const PipelinePass pass = pass_of_pair(cell, of);
    note_span(cell, name_of(pass), cell.pass_begin, now);
    hand_on(cell, pass, now);
}

}  // namespace ukemi::sim
