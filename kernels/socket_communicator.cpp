// socket_communicator.cpp — carries out rank programs over the connections of a mesh.
#include "kernels/socket_communicator.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/invariant.hpp"
#include "kernels/operation_slots.hpp"
#include "kernels/peer_mesh.hpp"
#include "kernels/rank_program.hpp"

namespace ukemi::kernels {

namespace {

// How many receives are posted beyond the one that is waited for. A long parcel is not sent before
// its receiver is ready, so a receive that is posted late costs a round trip.
constexpr std::size_t receives_ahead = 8;

// Memory for what is to be added, of one segment each; kept, because fresh pages are slow.
class Scratch {
public:
    using Block = std::unique_ptr<float[]>;
    Block take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) {
            return std::make_unique_for_overwrite<float[]>(segment_bytes_max / sizeof(float));
        }
        Block block = std::move(free_.back());
        free_.pop_back();
        return block;
    }
    void give_back(Block block) {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(block));
    }

private:
    std::mutex mutex_;
    std::vector<Block> free_;
};

// One operation of one rank. Receives end in the order of the program. A send starts as soon as the
// last earlier receive into its bytes is there; bytes that are being sent are not overwritten.
//
// Why this cannot lock up: take the first transfer of the schedule's list that never ends. All
// before it end, so its sender, which waits only for transfers that come before the receive it is
// at, has reached the point where it posts it, and its receiver has reached it or is waiting for
// it.
class Execution {
public:
    // What is sent and what is received may lie in one buffer (the same pointer) or in two.
    Execution(PeerMesh& mesh, Scratch& scratch, std::span<const RankMove> moves, std::uint64_t slot,
              const std::byte* sent, std::byte* received, Reduction reduction)
        : operation_(mesh),
          mesh_(mesh),
          scratch_(scratch),
          moves_(moves),
          slot_(slot),
          sent_(sent),
          received_(received),
          reduction_(reduction),
          under_way_(moves.size()) {
        for (std::size_t i = 0; i < moves_.size(); ++i) {
            if (moves_[i].kind != MoveKind::send) receives_.push_back(i);
        }
    }
    ~Execution() {
        for (UnderWay& each : under_way_) {
            if (each.block != nullptr) scratch_.give_back(std::move(each.block));
        }
    }
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

    Outcome run() {
        try {
            if (finish()) return Outcome::ok;
        } catch (...) {
            mesh_.fail(Outcome::aborted, -1);
            mesh_.withdraw();
            throw;
        }
        mesh_.withdraw();  // before the parcels go, and the caller's memory
        return mesh_.outcome();
    }

private:
    struct UnderWay {
        std::optional<PeerMesh::Parcel> parcel;  // while it is
        Scratch::Block block;
        std::size_t after = none;  // sends: the receive that brings their bytes
    };
    static constexpr auto none = static_cast<std::size_t>(-1);

    bool finish() {
        if (mesh_.outcome() != Outcome::ok) return false;
        find_dependencies();
        if (!post_sends(none)) return false;
        for (std::size_t k = 0; k < receives_.size(); ++k) {
            const std::size_t i = receives_[k];
            if (!post_receives(k)) return false;
            UnderWay& each = under_way_[i];
            if (!operation_.wait(*each.parcel)) return false;
            each.parcel.reset();
            if (each.block != nullptr) {
                if (!finish_sends(i)) return false;
                const std::size_t bytes = moves_[i].end - moves_[i].begin;
                reduce_into(reduction_, {received_ + moves_[i].begin, bytes},
                            {reinterpret_cast<const std::byte*>(each.block.get()), bytes});
                scratch_.give_back(std::move(each.block));
            }
            if (!post_sends(i)) return false;
        }
        for (std::size_t i = 0; i < moves_.size(); ++i) {
            if (moves_[i].kind == MoveKind::send && !finish_send(i)) return false;
        }
        return true;
    }

    PeerMesh::Parcel parcel_of(const RankMove& move, std::byte* data) const {
        return {data, move.end - move.begin, move.peer, slot_ + move.position, 0, false};
    }

    bool in_one_buffer() const { return sent_ == received_; }

    void find_dependencies() {
        if (!in_one_buffer()) return;
        for (std::size_t i = 0; i < moves_.size(); ++i) {
            if (moves_[i].kind != MoveKind::send) continue;
            for (const std::size_t receive : receives_) {
                if (receive > i) break;
                if (overlap(moves_[i], moves_[receive])) under_way_[i].after = receive;
            }
        }
    }

    bool post_sends(std::size_t after) {
        const std::size_t first = after == none ? 0 : after + 1;
        for (std::size_t i = first; i < moves_.size(); ++i) {
            const RankMove& move = moves_[i];
            UnderWay& each = under_way_[i];
            if (move.kind != MoveKind::send || each.after != after) continue;
            // Parcels are for both directions; this one is only read.
            each.parcel = parcel_of(move, const_cast<std::byte*>(sent_) + move.begin);
            if (!operation_.send(*each.parcel)) return false;
        }
        return true;
    }

    // Posts the receive number k and some after it, in order.
    bool post_receives(std::size_t k) {
        const std::size_t current = receives_[k];
        const std::size_t end = std::min(receives_.size(), k + 1 + receives_ahead);
        for (; posted_ < end; ++posted_) {
            const std::size_t i = receives_[posted_];
            const RankMove& move = moves_[i];
            UnderWay& each = under_way_[i];
            if (move.kind == MoveKind::receive_add) {
                each.block = scratch_.take();
                each.parcel = parcel_of(move, reinterpret_cast<std::byte*>(each.block.get()));
            } else {
                if (is_needed_between(current, i)) return true;
                if (!finish_sends(i)) return false;
                each.parcel = parcel_of(move, received_ + move.begin);
            }
            if (!operation_.receive(*each.parcel)) return false;
        }
        return true;
    }

    // Whether a move of [first, i) still uses the bytes of move i.
    bool is_needed_between(std::size_t first, std::size_t i) const {
        if (!in_one_buffer()) return false;
        const auto uses = [&](const RankMove& move) { return overlap(move, moves_[i]); };
        return std::any_of(moves_.begin() + static_cast<std::ptrdiff_t>(first),
                           moves_.begin() + static_cast<std::ptrdiff_t>(i), uses);
    }

    // Waits for the earlier sends from the bytes of move i.
    bool finish_sends(std::size_t i) {
        if (!in_one_buffer()) return true;
        for (std::size_t j = 0; j < i; ++j) {
            if (moves_[j].kind == MoveKind::send && overlap(moves_[j], moves_[i]) &&
                !finish_send(j)) {
                return false;
            }
        }
        return true;
    }

    bool finish_send(std::size_t i) {
        UnderWay& each = under_way_[i];
        if (!each.parcel) return true;
        if (!operation_.wait(*each.parcel)) return false;
        each.parcel.reset();
        return true;
    }

    PeerMesh::Operation operation_;
    PeerMesh& mesh_;
    Scratch& scratch_;
    std::span<const RankMove> moves_;
    std::uint64_t slot_;
    const std::byte* sent_;
    std::byte* received_;
    Reduction reduction_;
    std::vector<UnderWay> under_way_;
    std::vector<std::size_t> receives_;
    std::size_t posted_ = 0;  // how many of receives_
};

}  // namespace

struct SocketCommunicator::State {
    explicit State(GroupSettings settings) : mesh(std::move(settings)) {}

    Outcome run(const std::string& key, std::span<const RankMove> moves, const std::byte* sent,
                std::byte* received, Reduction reduction = Reduction::sum_single) {
        const std::optional<std::uint64_t> slot = slots.begin(key);
        if (!slot) {  // two names with one hash: about 1 in 10^9 for a hundred names
            mesh.fail(Outcome::aborted, -1);
            return mesh.outcome();
        }
        INVARIANT(std::all_of(moves.begin(), moves.end(),
                              [](const RankMove& move) { return move.position < slot_positions; }));
        const Outcome outcome =
            Execution(mesh, scratch, moves, *slot, sent, received, reduction).run();
        slots.end(key);
        return outcome;
    }

    Scratch scratch;  // before the mesh: its parcels lie here
    OperationSlots slots;
    PeerMesh mesh;
};

SocketCommunicator::SocketCommunicator(GroupSettings settings)
    : state_(std::make_unique<State>(std::move(settings))) {}

SocketCommunicator::~SocketCommunicator() = default;

std::span<const std::byte> SocketCommunicator::address() const { return state_->mesh.address(); }

Outcome SocketCommunicator::connect(std::span<const std::vector<std::byte>> addresses) {
    return state_->mesh.connect(addresses);
}

Membership SocketCommunicator::membership() const { return state_->mesh.membership(); }

std::vector<std::int32_t> SocketCommunicator::hosts() const { return state_->mesh.hosts(); }

Outcome SocketCommunicator::all_reduce(std::string_view name, const Schedule& schedule,
                                       Reduction reduction, std::span<std::byte> elements) {
    const Membership here = membership();
    INVARIANT(schedule.ranks == here.size);
    const std::size_t width = element_bytes(reduction);
    const std::size_t count = elements.size() / width;
    const std::vector<RankMove> moves = rank_program(schedule, here.rank, count, width);
    return state_->run(all_reduce_key(name, schedule, reduction, count), moves, elements.data(),
                       elements.data(), reduction);
}

Outcome SocketCommunicator::all_gather(std::string_view name, std::span<const std::byte> own,
                                       std::span<std::byte> all) {
    const auto [epoch, rank, size] = membership();
    INVARIANT(all.size() == own.size() * static_cast<std::size_t>(size));
    if (!own.empty()) {
        std::memmove(all.data() + own.size() * static_cast<std::size_t>(rank), own.data(),
                     own.size());
    }
    const std::vector<RankMove> moves =
        rank_program(all_gather_schedule(size), rank, all.size(), 1);
    return state_->run(all_gather_key(name, own.size()), moves, all.data(), all.data());
}

Outcome SocketCommunicator::broadcast(std::string_view name, std::span<std::byte> bytes, int root) {
    const auto [epoch, rank, size] = membership();
    INVARIANT(root >= 0 && root < size);
    const std::vector<RankMove> moves =
        rank_program(broadcast_schedule(size, root), rank, bytes.size(), 1);
    return state_->run(broadcast_key(name, bytes.size(), root), moves, bytes.data(), bytes.data());
}

Outcome SocketCommunicator::exchange(std::string_view name, int peer,
                                     std::span<const std::byte> out, std::span<std::byte> in) {
    const auto [epoch, rank, size] = membership();
    INVARIANT(peer >= 0 && peer < size && out.size() == in.size());
    const std::vector<RankMove> moves =
        rank_program(exchange_schedule(size, rank, peer), rank, out.size(), 1);
    if (peer == rank && !out.empty()) std::memmove(in.data(), out.data(), out.size());
    return state_->run(exchange_key(name, out.size(), rank, peer), moves, out.data(), in.data());
}

void SocketCommunicator::abort() { state_->mesh.fail(Outcome::aborted, -1); }

int SocketCommunicator::suspect() const { return state_->mesh.suspect(); }

}  // namespace ukemi::kernels
