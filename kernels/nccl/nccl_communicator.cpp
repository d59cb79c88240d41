#include "kernels/nccl/nccl_communicator.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <utility>

#include "base/invariant.hpp"
#include "kernels/nccl/nccl_group.hpp"
#include "kernels/nccl/nccl_order.hpp"

namespace ukemi::kernels {

struct NcclCommunicator::State {
    State(NcclCalls& with, NcclSettings given)
        : calls(with),
          settings(std::move(given)),
          group(with, settings.deadline, settings.connecting),
          order(settings.round),
          members(settings.membership) {}

    // Bytes of an operation: the caller's own where the device reaches them, else two copies, on
    // the device and in memory of the host that it reads by itself. They are kept: to free such
    // memory waits for the device, and an operation may hang there.
    struct Room {
        std::shared_ptr<std::byte> device;
        std::shared_ptr<std::byte> pinned;
        std::size_t bytes = 0;
    };
    struct Staged {
        std::byte* device = nullptr;
        std::byte* pinned = nullptr;  // null: the caller's own
    };
    Staged stage(Room& room, const void* memory, std::size_t bytes) {
        // The operation's own contract says whether it writes there.
        if (bytes == 0 || calls.reaches(memory)) {
            return {static_cast<std::byte*>(const_cast<void*>(memory)), nullptr};
        }
        if (room.bytes < bytes) room = {calls.staging(bytes), calls.pinned(bytes), bytes};
        return {room.device.get(), room.pinned.get()};
    }
    NcclState bring(const Staged& staged, std::span<const std::byte> from) {
        if (staged.pinned == nullptr) return NcclState::done;
        std::ranges::copy(from, staged.pinned);
        return calls.copy(staged.device, staged.pinned, from.size());
    }

    // What goes in, and what comes out.
    struct Operation {
        std::span<const std::byte> in;
        std::span<std::byte> out;
        std::function<NcclState(const NcclCalls::Handle& on, std::byte* in, std::byte* out)> start;
    };
    Outcome connected(Outcome outcome);
    Outcome run(std::string_view name, const Operation& operation) {
        const Outcome turn = order.take_turn(name, settings.deadline);
        if (turn != Outcome::ok) return turn;
        struct Done {
            NcclOrder& order;
            ~Done() { order.done(); }
        } const done{order};
        // Bytes that only begin where the others do need a copy that is as long as they are.
        const bool in_place = operation.in.data() == operation.out.data() &&
                              operation.in.size() == operation.out.size();
        const Staged in = stage(rooms[0], operation.in.data(), operation.in.size());
        const Staged out =
            in_place ? in : stage(rooms[1], operation.out.data(), operation.out.size());
        const Outcome outcome = group.run(
            [&](const NcclCalls::Handle& on) {
                const NcclState brought = bring(in, operation.in);
                if (brought == NcclState::failed) return brought;
                return operation.start(on, in.device, out.device);
            },
            [&] {
                if (out.pinned == nullptr) return NcclState::done;
                return calls.copy(out.pinned, out.device, operation.out.size());
            });
        suspect = group.suspect();
        if (outcome != Outcome::ok) {
            order.abort();
        } else if (out.pinned != nullptr) {
            std::copy_n(out.pinned, operation.out.size(), operation.out.data());
        }
        return outcome;
    }

    NcclCalls& calls;
    NcclSettings settings;
    std::array<Room, 2> rooms;  // of what comes in and what goes out; whose turn it is has them
    NcclGroup group;            // ends before the rooms do
    NcclOrder order;
    const Membership members;
    std::atomic<int> suspect{-1};
};

NcclCommunicator::NcclCommunicator(NcclCalls& calls, NcclSettings settings)
    : state_(std::make_unique<State>(calls, std::move(settings))) {}
NcclCommunicator::~NcclCommunicator() = default;

Outcome NcclCommunicator::State::connected(Outcome outcome) {
    suspect = group.suspect();
    if (outcome != Outcome::ok) order.abort();
    return outcome;
}

Outcome NcclCommunicator::connect(const NcclId& id) {
    return state_->connected(state_->group.connect(id, state_->members));
}

Outcome NcclCommunicator::connect_within(const NcclCommunicator& parent,
                                         std::span<const int> excluded) {
    return state_->connected(
        state_->group.connect_within(parent.state_->group, excluded, state_->members));
}

bool NcclCommunicator::is_ready() const { return state_->group.is_whole(); }

void NcclCommunicator::report_lost(int rank) { state_->group.report_lost(rank); }
std::string NcclCommunicator::why() const { return state_->group.why(); }
Membership NcclCommunicator::membership() const { return state_->members; }
int NcclCommunicator::suspect() const { return state_->suspect; }

void NcclCommunicator::abort() {
    state_->group.abort();
    state_->order.abort();
}

Outcome NcclCommunicator::all_reduce(std::string_view name, const Schedule& schedule,
                                     Reduction reduction, std::span<std::byte> elements) {
    State& state = *state_;
    INVARIANT(schedule.ranks == state.members.size);
    if (reduction == Reduction::sum_int16) return widened_sum(name, schedule, elements);
    return state.run(
        name, {elements, elements, [&](const NcclCalls::Handle& on, std::byte* in, std::byte*) {
                   return state.calls.all_reduce(on, reduction, {in, elements.size()});
               }});
}

Outcome NcclCommunicator::widened_sum(std::string_view name, const Schedule& schedule,
                                      std::span<std::byte> int16s) {
    INVARIANT(int16s.empty() || !state_->calls.reaches(int16s.data()));
    std::vector<std::int32_t> wide(int16s.size() / sizeof(std::int16_t));
    for (std::size_t i = 0; i < wide.size(); ++i) {
        std::int16_t narrow = 0;
        std::memcpy(&narrow, &int16s[i * sizeof narrow], sizeof narrow);
        wide[i] = narrow;
    }
    const Outcome outcome =
        all_reduce(name, schedule, Reduction::sum_int32, std::as_writable_bytes(std::span(wide)));
    for (std::size_t i = 0; i < wide.size(); ++i) {
        const auto narrow = static_cast<std::int16_t>(wide[i]);
        std::memcpy(&int16s[i * sizeof narrow], &narrow, sizeof narrow);
    }
    return outcome;
}

Outcome NcclCommunicator::all_gather(std::string_view name, std::span<const std::byte> own,
                                     std::span<std::byte> all) {
    State& state = *state_;
    INVARIANT(all.size() == own.size() * static_cast<std::size_t>(state.members.size));
    return state.run(name,
                     {own, all, [&](const NcclCalls::Handle& on, std::byte* in, std::byte* out) {
                          return state.calls.all_gather(on, in, own.size(), out);
                      }});
}

Outcome NcclCommunicator::broadcast(std::string_view name, std::span<std::byte> bytes, int root) {
    State& state = *state_;
    INVARIANT(root >= 0 && root < state.members.size);
    return state.run(name,
                     {bytes, bytes, [&](const NcclCalls::Handle& on, std::byte* in, std::byte*) {
                          return state.calls.broadcast(on, {in, bytes.size()}, root);
                      }});
}

Outcome NcclCommunicator::exchange(std::string_view name, int peer, std::span<const std::byte> out,
                                   std::span<std::byte> in) {
    State& state = *state_;
    INVARIANT(out.size() == in.size() && peer >= 0 && peer < state.members.size);
    return state.run(name,
                     {out, in, [&](const NcclCalls::Handle& on, std::byte* given, std::byte* got) {
                          return state.calls.exchange(on, peer, {given, out.size()}, got);
                      }});
}

}  // namespace ukemi::kernels
