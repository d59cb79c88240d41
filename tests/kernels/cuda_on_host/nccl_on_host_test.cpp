// nccl_on_host_test.cpp — what our calls of NCCL keep alive and where they make contexts, with its
// stand-in (nccl.cpp) between ranks of one process.
#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "kernels/cuda/handles.hpp"
#include "kernels/nccl/library/nccl_library.hpp"

using namespace ukemi;
using namespace ukemi::kernels;

namespace ukemi::on_host {
std::int64_t calls_on(int device);  // runtime.cpp: by threads whose device it was
}

namespace {

// As many ranks, each with a device of its own, in one group.
class RanksOnHost {
public:
    explicit RanksOnHost(int count) {
        ::setenv("UKEMI_ON_HOST_DEVICES", std::to_string(count).c_str(), 1);
        for (int rank = 0; rank < count; ++rank) calls.push_back(make_nccl(rank));
        const NcclId id = calls.front()->new_id();
        for (int rank = 0; rank < count; ++rank) {
            groups.push_back(calls[static_cast<std::size_t>(rank)]->init(id, rank, count));
        }
        for (std::size_t rank = 0; rank < groups.size(); ++rank) {
            REQUIRE(over(rank, groups[rank]) == NcclState::done);
        }
    }
    ~RanksOnHost() {
        groups.clear();
        calls.clear();
        static_cast<void>(cudaSetDevice(0));
        ::unsetenv("UKEMI_ON_HOST_DEVICES");
    }
    RanksOnHost(const RanksOnHost&) = delete;
    RanksOnHost& operator=(const RanksOnHost&) = delete;

    NcclState over(std::size_t rank, const NcclCalls::Handle& of) const {
        NcclState state = NcclState::in_progress;
        for (int look = 0; look < 10'000 && state == NcclState::in_progress; ++look) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            state = calls[rank]->state(of);
        }
        return state;
    }

    std::vector<std::unique_ptr<NcclCalls>> calls;
    std::vector<NcclCalls::Handle> groups;
};

}  // namespace

TEST_CASE("nccl on the host: calls of any thread make no context on another device",
          "[cuda_on_host][nccl]") {
    ::setenv("UKEMI_ON_HOST_DEVICES", "2", 1);
    const auto calls = make_nccl(1);
    NcclCalls::Handle alone = calls->init(calls->new_id(), 0, 1);
    while (calls->state(alone) == NcclState::in_progress) calls->pause();
    std::vector<std::int64_t> made;
    std::thread([&] {  // whose device is 0
        const auto note = [&](auto call) {
            static_cast<void>(cudaSetDevice(0));
            const std::int64_t before = on_host::calls_on(0);
            call();
            made.push_back(on_host::calls_on(0) - before);
        };
        constexpr std::size_t bytes = 4;
        std::shared_ptr<std::byte> memory;
        std::shared_ptr<std::byte> pinned;
        note([&] { memory = calls->staging(bytes); });
        note([&] { pinned = calls->pinned(bytes); });
        std::memset(pinned.get(), 0, bytes);
        const std::span values(memory.get(), bytes);
        note([&] { CHECK(calls->reaches(memory.get())); });
        note([&] { calls->copy(memory.get(), pinned.get(), bytes); });
        note([&] { calls->all_reduce(alone, Reduction::sum_single, values); });
        note([&] { calls->all_gather(alone, memory.get(), bytes, memory.get()); });
        note([&] { calls->broadcast(alone, values, 0); });
        note([&] {
            while (calls->stream() == NcclState::in_progress) calls->pause();
        });
        note([&] { calls->exchange(alone, 0, values, memory.get()); });
    })
        .join();
    CHECK(made == std::vector<std::int64_t>(9, 0));
    alone.reset();
    static_cast<void>(cudaSetDevice(0));
    ::unsetenv("UKEMI_ON_HOST_DEVICES");
}

TEST_CASE("nccl on the host: a child that nobody waits for any more is kept until NCCL is done",
          "[cuda_on_host][nccl]") {
    RanksOnHost ranks(3);
    const std::array excluded{2};
    SECTION("another rank never comes: until the parent is aborted") {
        NcclCalls::Handle child = ranks.calls[0]->shrink(ranks.groups[0], excluded);
        const std::weak_ptr<NcclCalls::Communicator> watched = child;
        ranks.calls[0]->abort(child);
        child.reset();
        CHECK_FALSE(watched.expired());
        CHECK(ranks.calls[0]->state(ranks.groups[0]) == NcclState::in_progress);
        ranks.calls[0]->abort(ranks.groups[0]);  // NCCL writes where the child is
        CHECK_FALSE(watched.expired());
        ranks.groups[0].reset();
        CHECK(watched.expired());
    }
    SECTION("all come: until the parent says that it is over") {
        std::array children{ranks.calls[0]->shrink(ranks.groups[0], excluded),
                            ranks.calls[1]->shrink(ranks.groups[1], excluded)};
        const std::weak_ptr<NcclCalls::Communicator> watched = children[0];
        for (const std::size_t rank : {0U, 1U}) {
            CHECK(ranks.over(rank, children[rank]) == NcclState::done);
            CHECK(ranks.over(rank, ranks.groups[rank]) == NcclState::done);
        }
        children = {};
        CHECK(watched.expired());
    }
}
