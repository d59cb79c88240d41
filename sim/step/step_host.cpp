// step_host.cpp — wakes on one side, the network on the other.
#include "sim/step/step_host.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/step/step_player.hpp"

namespace ukemi::sim {

void StepHost::wake(StepPlayer& player, Instant at, std::uint64_t token) {
    due_.push(at.raw(), 1, {&player, token});
}

void StepHost::send(StepPlayer& player, const PlacedCollective& placed, Bytes bytes, Instant at,
                    std::uint64_t token) {
    if (const auto takes = placed.takes(bytes)) {
        due_.push((at + *takes).raw(), 0, {&player, token, true, true});
        return;
    }
    const RunId run = placed.start(network_, bytes, at);
    on_their_way_[static_cast<std::uint32_t>(run)] = {&player, token, false, placed.is_nccl()};
}

void StepHost::forget(const StepPlayer& player) {
    std::erase_if(on_their_way_, [&](const auto& entry) {
        if (entry.second.player != &player) return false;
        network_.runs().cancel(static_cast<RunId>(entry.first));
        return true;
    });
    due_.cancel_if([&](const Told& told) { return told.player == &player; });
}

Instant StepHost::wakes_at() {
    return due_.empty() ? Instant::never() : Instant::at(nanoseconds(due_.next().at));
}

void StepHost::arrived(const NetworkEvent& event) {
    if (event.kind != NetworkEvent::Kind::run_finished) return;
    auto node = on_their_way_.extract(static_cast<std::uint32_t>(event.number));
    if (node.empty()) return;  // ended at the very moment at which it was forgotten
    const Told& told = node.mapped();
    if (told.nccl) {
        told.player->note_nccl();
    } else {
        told.player->note_played(event.exact);
    }
    told.player->arrived(told.token, event.at);
}

void StepHost::run(std::span<const std::unique_ptr<StepPlayer>> players, Instant until) {
    const auto is_over = [](const auto& player) { return player->is_over(); };
    while (!std::ranges::all_of(players, is_over)) {
        const Instant wakes = wakes_at();
        const Instant limit = std::min(wakes, until);
        if (const auto event = network_.runs().run_until(limit)) {
            arrived(*event);
            continue;
        }
        if (due_.empty() || wakes > until) {
            if (until < Instant::never()) return;
            const auto waiting = std::ranges::find_if_not(players, is_over);
            throw InputError(fmt::format("job {}", (*waiting)->name()), "",
                             "waits for ever: what it sends crosses a link that is down");
        }
        const Told told = due_.take();
        if (told.of_message) {
            told.player->note_nccl();
            told.player->arrived(told.token, wakes);
        } else {
            told.player->wake_up(told.token, wakes);
        }
    }
}

}  // namespace ukemi::sim
