#include "studies/nccl/nccl_communicator.hpp"

#include <atomic>
#include <cstring>
#include <utility>

#include "base/invariant.hpp"
#include "studies/nccl/nccl_group.hpp"
#include "studies/nccl/nccl_order.hpp"

namespace ukemi::studies {

struct NcclCommunicator::State {
    State(NcclCalls& with, NcclSettings given)
        : calls(with),
          settings(std::move(given)),
          group(with, settings.deadline),
          order(settings.round),
          members(settings.membership) {}

    // The part of an operation that has memory where the device reaches it.
    struct Staged {
        std::byte* device = nullptr;
        std::shared_ptr<std::byte> owned;  // if it is not the caller's own
    };
    Staged stage(const void* memory, std::size_t bytes) {
        Staged staged;
        if (bytes == 0 || calls.reaches(memory)) {
            // The operation's own contract says whether it writes there.
            staged.device = static_cast<std::byte*>(const_cast<void*>(memory));
        } else {
            staged.owned = calls.staging(bytes);
            staged.device = staged.owned.get();
        }
        return staged;
    }
    NcclState bring(const Staged& staged, const void* from, std::size_t bytes) {
        if (!staged.owned) return NcclState::done;
        return calls.copy(staged.device, static_cast<const std::byte*>(from), bytes);
    }
    NcclState fetch(const Staged& staged, void* to, std::size_t bytes) {
        if (!staged.owned) return NcclState::done;
        return calls.copy(static_cast<std::byte*>(to), staged.device, bytes);
    }

    kernels::Outcome run(std::string_view name, const NcclGroup::Start& start,
                         const NcclGroup::Then& then) {
        const kernels::Outcome turn = order.take_turn(name, settings.deadline);
        if (turn != kernels::Outcome::ok) return turn;
        const kernels::Outcome outcome = group.run(start, then);
        suspect = group.suspect();
        if (outcome != kernels::Outcome::ok) order.abort();
        order.done();
        return outcome;
    }

    NcclCalls& calls;
    NcclSettings settings;
    NcclGroup group;
    NcclOrder order;
    kernels::Membership members;
    std::atomic<int> suspect{-1};
};

namespace {

bool failed(NcclState state) { return state == NcclState::failed; }

}  // namespace

NcclCommunicator::NcclCommunicator(NcclCalls& calls, NcclSettings settings)
    : state_(std::make_unique<State>(calls, std::move(settings))) {}
NcclCommunicator::~NcclCommunicator() = default;

kernels::Outcome NcclCommunicator::connect(const NcclId& id) {
    const kernels::Outcome outcome = state_->group.connect(id, state_->members);
    state_->suspect = state_->group.suspect();
    if (outcome != kernels::Outcome::ok) state_->order.abort();
    return outcome;
}

kernels::Outcome NcclCommunicator::shrink(std::span<const int> excluded) {
    const kernels::Outcome outcome = state_->group.shrink(excluded);
    if (outcome == kernels::Outcome::ok) {
        state_->members = state_->group.membership();
    } else {
        state_->order.abort();
    }
    return outcome;
}

void NcclCommunicator::report_lost(int rank) { state_->group.report_lost(rank); }
std::string NcclCommunicator::why() const { return state_->group.why(); }
kernels::Membership NcclCommunicator::membership() const { return state_->members; }
int NcclCommunicator::suspect() const { return state_->suspect; }

void NcclCommunicator::abort() {
    state_->group.abort();
    state_->order.abort();
}

kernels::Outcome NcclCommunicator::all_reduce(std::string_view name,
                                              const kernels::Schedule& schedule,
                                              kernels::Reduction reduction,
                                              std::span<std::byte> elements) {
    State& state = *state_;
    INVARIANT(schedule.ranks == state.members.size);
    if (reduction == kernels::Reduction::sum_int16) return widened_sum(name, schedule, elements);
    const State::Staged staged = state.stage(elements.data(), elements.size());
    return state.run(
        name,
        [&](const NcclCalls::Handle& on) {
            if (failed(state.bring(staged, elements.data(), elements.size()))) {
                return NcclState::failed;
            }
            return state.calls.all_reduce(on, reduction, {staged.device, elements.size()});
        },
        [&] { return state.fetch(staged, elements.data(), elements.size()); });
}

kernels::Outcome NcclCommunicator::widened_sum(std::string_view name,
                                               const kernels::Schedule& schedule,
                                               std::span<std::byte> int16s) {
    INVARIANT(int16s.empty() || !state_->calls.reaches(int16s.data()));
    std::vector<std::int32_t> wide(int16s.size() / sizeof(std::int16_t));
    for (std::size_t i = 0; i < wide.size(); ++i) {
        std::int16_t narrow = 0;
        std::memcpy(&narrow, &int16s[i * sizeof narrow], sizeof narrow);
        wide[i] = narrow;
    }
    const kernels::Outcome outcome = all_reduce(name, schedule, kernels::Reduction::sum_int32,
                                                std::as_writable_bytes(std::span(wide)));
    for (std::size_t i = 0; i < wide.size(); ++i) {
        const auto narrow = static_cast<std::int16_t>(wide[i]);
        std::memcpy(&int16s[i * sizeof narrow], &narrow, sizeof narrow);
    }
    return outcome;
}

kernels::Outcome NcclCommunicator::all_gather(std::string_view name, std::span<const std::byte> own,
                                              std::span<std::byte> all) {
    State& state = *state_;
    INVARIANT(all.size() == own.size() * static_cast<std::size_t>(state.members.size));
    const State::Staged from = state.stage(own.data(), own.size());
    const State::Staged into = state.stage(all.data(), all.size());
    return state.run(
        name,
        [&](const NcclCalls::Handle& on) {
            if (failed(state.bring(from, own.data(), own.size()))) return NcclState::failed;
            return state.calls.all_gather(on, from.device, own.size(), into.device);
        },
        [&] { return state.fetch(into, all.data(), all.size()); });
}

kernels::Outcome NcclCommunicator::broadcast(std::string_view name, std::span<std::byte> bytes,
                                             int root) {
    State& state = *state_;
    INVARIANT(root >= 0 && root < state.members.size);
    const State::Staged staged = state.stage(bytes.data(), bytes.size());
    return state.run(
        name,
        [&](const NcclCalls::Handle& on) {
            if (failed(state.bring(staged, bytes.data(), bytes.size()))) return NcclState::failed;
            const std::span<std::byte> device(staged.device, bytes.size());
            return state.calls.broadcast(on, device, root);
        },
        [&] { return state.fetch(staged, bytes.data(), bytes.size()); });
}

kernels::Outcome NcclCommunicator::exchange(std::string_view name, int peer,
                                            std::span<const std::byte> out,
                                            std::span<std::byte> in) {
    State& state = *state_;
    INVARIANT(out.size() == in.size() && peer >= 0 && peer < state.members.size);
    const State::Staged from = state.stage(out.data(), out.size());
    const State::Staged into = state.stage(in.data(), in.size());
    return state.run(
        name,
        [&](const NcclCalls::Handle& on) {
            if (failed(state.bring(from, out.data(), out.size()))) return NcclState::failed;
            const std::span<const std::byte> device(from.device, out.size());
            return state.calls.exchange(on, peer, device, into.device);
        },
        [&] { return state.fetch(into, in.data(), in.size()); });
}

}  // namespace ukemi::studies
