#include "kernels/nccl/device_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace ukemi::kernels {

struct DeviceExchange::Word {
    std::array<char, 64> device{};  // empty: none that NCCL serves
    std::uint64_t present_epoch = 0;
    std::int32_t present_rank = -1;  // in the group that it is in now; −1: in none that is whole
    std::int32_t present_size = 0;
    std::uint8_t connected = 0;
    std::array<std::uint8_t, 7> unused{};

    std::string_view name() const { return {device.data(), ::strnlen(device.data(), 64)}; }
};

namespace {

struct SentId {
    NcclId id{};
    bool made = false;
};

// Who fails at once waits on the sockets for those who wait for NCCL.
std::chrono::milliseconds connecting_of(std::chrono::milliseconds deadline) { return deadline / 2; }

template <class Value>
std::span<std::byte> bytes_of(Value& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

DeviceExchange::DeviceExchange(Communicator& sockets, DeviceLink link,
                               std::vector<std::string> sums, std::chrono::milliseconds deadline)
    : sockets_(sockets), link_(std::move(link)), sums_(std::move(sums)) {
    if (!link_.calls) return;
    devices_ = std::make_unique<NcclCommunicator>(
        *link_.calls, NcclSettings{sockets.membership(), deadline, connecting_of(deadline), sums_});
}

// Nothing is under way, on any rank: a step ends with a word of all ranks. An orderly end would
// wait for those who have gone already.
DeviceExchange::~DeviceExchange() {
    if (devices_) devices_->abort();
}

Outcome DeviceExchange::gather(std::string_view name, const Word& own, std::vector<Word>& words) {
    words.assign(static_cast<std::size_t>(membership().size), own);
    return sockets_.all_gather(name, std::as_bytes(std::span(&own, 1)),
                               std::as_writable_bytes(std::span(words)));
}

Outcome DeviceExchange::connect(const DeviceExchange* present) {
    if (membership().size == 1) return Outcome::ok;  // nobody to exchange with
    Word own;
    if (devices_) {
        const std::string_view name =
            std::string_view(link_.device).substr(0, own.device.size() - 1);
        std::ranges::copy(name, own.device.begin());
        if (present != nullptr && present->on_devices() && present->devices_->is_ready()) {
            const Membership before = present->membership();
            own.present_epoch = before.epoch;
            own.present_rank = before.rank;
            own.present_size = before.size;
        }
    }
    std::vector<Word> words;
    Outcome outcome = gather("devices", own, words);
    if (outcome != Outcome::ok) return outcome;
    why_ = objection(words);
    if (!why_.empty() || !devices_) return outcome;
    outcome = connect_devices(words, present);
    // From an abort on the sockets are of no use either.
    own.connected = outcome == Outcome::ok ? 1 : 0;
    outcome = gather("devices/connected", own, words);
    if (outcome != Outcome::ok) return outcome;
    const auto failed = std::ranges::find(words, 0, &Word::connected);
    if (failed == words.end()) {
        on_devices_ = true;
    } else if (why_.empty()) {
        why_ = fmt::format("NCCL does not connect rank {}", failed - words.begin());
    }
    return outcome;
}

// Why the devices do not serve, equal on all ranks but for what only this one knows.
std::string DeviceExchange::objection(std::span<const Word> words) const {
    if (!devices_) return link_.why;
    for (std::size_t rank = 0; rank < words.size(); ++rank) {
        const std::string_view name = words[rank].name();
        if (name.empty()) return fmt::format("rank {} has no GPU that NCCL serves", rank);
        for (std::size_t other = 0; other < rank; ++other) {
            if (words[other].name() == name) {
                return fmt::format("ranks {} and {} share a GPU", other, rank);
            }
        }
    }
    return {};
}

// Within the present group if it is this one with more ranks, else, and if that fails on this
// rank, anew: ranks that fail differently do not meet, and all go over the sockets.
Outcome DeviceExchange::connect_devices(std::span<const Word> words,
                                        const DeviceExchange* present) {
    const Word& first = words.front();
    bool within = present != nullptr && first.present_size > membership().size;
    std::vector<int> leaving;
    int next = 0;
    for (const Word& word : words) {
        within = within && word.present_epoch == first.present_epoch && word.present_rank >= next;
        if (!within) break;
        while (next < word.present_rank) leaving.push_back(next++);
        ++next;
    }
    Outcome outcome = Outcome::aborted;
    if (within) {
        while (next < first.present_size) leaving.push_back(next++);
        outcome = devices_->connect_within(*present->devices_, leaving);
    } else {
        SentId sent;
        if (membership().rank == 0) {
            try {
                sent = {link_.calls->new_id(), true};
            } catch (const std::runtime_error& problem) {
                why_ = problem.what();
            }
        }
        outcome = sockets_.broadcast("devices/id", bytes_of(sent), 0);
        if (outcome != Outcome::ok) return outcome;
        if (!sent.made) return Outcome::aborted;
        outcome = devices_->connect(sent.id);
    }
    if (outcome != Outcome::ok && why_.empty()) why_ = "NCCL: " + devices_->why();
    return outcome;
}

Outcome DeviceExchange::all_reduce(std::string_view name, const Schedule& schedule,
                                   Reduction reduction, std::span<std::byte> elements) {
    const bool listed = on_devices_ && std::ranges::find(sums_, name) != sums_.end();
    return listed ? devices_->all_reduce(name, schedule, reduction, elements)
                  : sockets_.all_reduce(name, schedule, reduction, elements);
}
Outcome DeviceExchange::all_gather(std::string_view name, std::span<const std::byte> own,
                                   std::span<std::byte> all) {
    return sockets_.all_gather(name, own, all);
}
Outcome DeviceExchange::broadcast(std::string_view name, std::span<std::byte> bytes, int root) {
    return sockets_.broadcast(name, bytes, root);
}
Outcome DeviceExchange::exchange(std::string_view name, int peer, std::span<const std::byte> out,
                                 std::span<std::byte> in) {
    return sockets_.exchange(name, peer, out, in);
}

void DeviceExchange::abort() {
    sockets_.abort();
    if (devices_) devices_->abort();
}

int DeviceExchange::suspect() const {
    const int on_sockets = sockets_.suspect();
    return on_sockets >= 0 || !devices_ ? on_sockets : devices_->suspect();
}

}  // namespace ukemi::kernels
