// device_exchange.hpp — a group whose ranks have GPUs: sums of gradients go over NCCL, from device
// to device, and everything else over the sockets that connect the group anyway.
//
// Whether the devices serve is agreed by all ranks when they connect: each has a GPU of its own,
// NCCL is there, and it has connected them. Else all operations go over the sockets, and `why` says
// for what reason. A group that is the present one without some of its ranks is made within it; it
// stays as it is, so that a change may be called off until it is committed. Secrets: NCCL's
// connections know none, so they are for machines whose network is trusted; the sockets' are
// encrypted as ever, and carry NCCL's id.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/communicator.hpp"
#include "kernels/nccl/nccl_communicator.hpp"

namespace ukemi::kernels {

// What a worker has to exchange with beside its sockets.
struct DeviceLink {
    std::string device;                // names its GPU among those of all machines; empty: none
    std::shared_ptr<NcclCalls> calls;  // null: none
    std::string why;                   // there are none, in a few words
};

class DeviceExchange final : public Communicator {
public:
    // `sockets` is of the same membership, and outlives it. `sums`: the names of the all-reduces of
    // one step, in their order (nccl_order.hpp); others go over the sockets.
    DeviceExchange(Communicator& sockets, DeviceLink link, std::vector<std::string> sums,
                   std::chrono::milliseconds deadline);
    ~DeviceExchange() override;
    DeviceExchange(const DeviceExchange&) = delete;
    DeviceExchange& operator=(const DeviceExchange&) = delete;

    // Once, when the sockets are connected; by all ranks. `present`: the group that this rank is in
    // now, which stands still; null: none. Not ok: the sockets have failed.
    Outcome connect(const DeviceExchange* present);
    bool on_devices() const { return on_devices_; }
    std::string_view why() const { return why_; }  // not; empty: there is no device at all

    Membership membership() const override { return sockets_.membership(); }
    std::vector<std::int32_t> hosts() const override { return sockets_.hosts(); }
    Outcome all_reduce(std::string_view name, const Schedule& schedule, Reduction reduction,
                       std::span<std::byte> elements) override;
    Outcome all_gather(std::string_view name, std::span<const std::byte> own,
                       std::span<std::byte> all) override;
    Outcome broadcast(std::string_view name, std::span<std::byte> bytes, int root) override;
    Outcome exchange(std::string_view name, int peer, std::span<const std::byte> out,
                     std::span<std::byte> in) override;
    void abort() override;
    int suspect() const override;

private:
    struct Word;  // what each rank tells all others
    std::string objection(std::span<const Word> words) const;
    Outcome connect_devices(std::span<const Word> words, const DeviceExchange* present);
    Outcome gather(std::string_view name, const Word& own, std::vector<Word>& words);

    Communicator& sockets_;
    DeviceLink link_;
    const std::vector<std::string> sums_;
    std::unique_ptr<NcclCommunicator> devices_;  // null: it has none
    std::atomic<bool> on_devices_{false};
    std::string why_;
};

}  // namespace ukemi::kernels
