// fake_nccl.hpp — NCCL's calls between ranks of one process, and what goes wrong with them: ranks
// that never come, launches that fail, streams that hang. Time is counted, not waited for.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/invariant.hpp"
#include "kernels/nccl/nccl_calls.hpp"

namespace ukemi {

struct kernels::NcclCalls::Communicator {
    int number = 0;  // of the board's
    int rank = 0;
    int size = 1;
    bool aborted = false;
    bool finishing = false;
    bool failed = false;
    int shrinking = 0;  // so many looks at its state find a shrink still under way
};

// What all ranks see.
struct FakeBoard {
    struct Operation {
        std::map<int, std::vector<std::byte>> given;  // by rank
    };
    struct Known {
        int size = 0;
        std::map<int, bool> here;
        std::vector<Operation> operations;
    };
    std::mutex mutex;
    std::map<int, Known> communicators;
    std::map<std::pair<int, std::vector<int>>, int> children;
    int next = 1;
};

class FakeNccl final : public kernels::NcclCalls {
public:
    explicit FakeNccl(FakeBoard& board) : board_(board) {}

    bool launch_fails = false;
    bool stream_hangs = false;
    bool shrink_fails = false;  // on the parent
    int shrink_lasts = 0;       // looks at the parent, after the child has shown
    int aborts = 0;
    int aborts_of_shrinking = 0;  // which NCCL passes on to the child
    int finishes = 0;
    std::atomic<int> device_bytes = 0;  // staged so far
    std::vector<std::string> calls;
    // Called at each pause, for what happens meanwhile.
    std::function<void(int pause)> meanwhile;

    kernels::NcclId new_id() override {
        const std::lock_guard lock(board_.mutex);
        kernels::NcclId id{};
        id[0] = static_cast<std::byte>(board_.next++);
        return id;
    }
    Handle init(const kernels::NcclId& id, int rank, int size) override {
        return join(static_cast<int>(id[0]), rank, size);
    }
    Handle shrink(const Handle& parent, std::span<const int> excluded) override {
        calls.push_back("shrink");
        parent->shrinking = shrink_lasts;
        parent->failed = shrink_fails;
        int number = 0;
        {
            const std::lock_guard lock(board_.mutex);
            const std::vector<int> gone(excluded.begin(), excluded.end());
            int& child = board_.children[{parent->number, gone}];
            if (child == 0) child = board_.next++;
            number = child;
        }
        const auto before =
            std::ranges::count_if(excluded, [&](int rank) { return rank < parent->rank; });
        return join(number, parent->rank - static_cast<int>(before),
                    parent->size - static_cast<int>(excluded.size()));
    }
    kernels::NcclState state(const Handle& of) override {
        if (of->aborted || of->failed || launch_fails) return kernels::NcclState::failed;
        if (of->shrinking > 0) {
            --of->shrinking;
            return kernels::NcclState::in_progress;
        }
        const std::lock_guard lock(board_.mutex);
        const FakeBoard::Known& known = board_.communicators[of->number];
        const bool all = static_cast<int>(known.here.size()) == of->size;
        return all || of->finishing ? kernels::NcclState::done : kernels::NcclState::in_progress;
    }
    std::string why(const Handle& of) override {
        return of->failed ? "the shrink failed" : "unhandled system error";
    }

    kernels::NcclState all_reduce(const Handle& on, kernels::Reduction reduction,
                                  std::span<std::byte> elements) override {
        INVARIANT(reduction != kernels::Reduction::sum_int16);
        return launch(on, elements, [=](const auto& given) {
            // New memory stands where any element may.
            std::vector<std::byte> sum(elements.size());
            bool first = true;
            for (const auto& [rank, bytes] : given) {
                const std::vector<std::byte> own(bytes.begin(), bytes.end());
                if (first) sum = own;
                if (!first) kernels::reduce_into(reduction, sum, own);
                first = false;
            }
            std::memcpy(elements.data(), sum.data(), sum.size());
        });
    }
    kernels::NcclState all_gather(const Handle& on, const std::byte* own, std::size_t bytes,
                                  std::byte* all) override {
        return launch(on, {own, bytes}, [=](const auto& given) {
            std::byte* at = all;
            for (const auto& [rank, part] : given) at = std::ranges::copy(part, at).out;
        });
    }
    kernels::NcclState broadcast(const Handle& on, std::span<std::byte> bytes, int root) override {
        std::byte* into = bytes.data();
        return launch(on, bytes,
                      [=](const auto& given) { std::ranges::copy(given.at(root), into); });
    }
    kernels::NcclState exchange(const Handle& on, int peer, std::span<const std::byte> out,
                                std::byte* in) override {
        return launch(on, out, [=](const auto& given) { std::ranges::copy(given.at(peer), in); });
    }

    kernels::NcclState stream() override {
        if (stream_hangs) return kernels::NcclState::in_progress;
        if (!finish_) return kernels::NcclState::done;
        const std::lock_guard lock(board_.mutex);
        const auto& operation = board_.communicators[under_way_].operations[operation_];
        if (static_cast<int>(operation.given.size()) < size_)
            return kernels::NcclState::in_progress;
        finish_(operation.given);
        finish_ = nullptr;
        for (const auto& copy : copies_) copy();
        copies_.clear();
        return kernels::NcclState::done;
    }

    void finish(const Handle& of) override {
        ++finishes;
        of->finishing = true;
    }
    void abort(const Handle& of) override {
        ++aborts;
        aborts_of_shrinking += of->shrinking > 0 ? 1 : 0;
        of->aborted = true;
    }

    bool reaches(const void*) override { return false; }
    std::shared_ptr<std::byte> staging(std::size_t bytes) override {
        device_bytes += static_cast<int>(bytes);
        return known(bytes);
    }
    std::shared_ptr<std::byte> pinned(std::size_t bytes) override { return known(bytes); }
    kernels::NcclState copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
        INVARIANT(is_known(to, bytes) && is_known(from, bytes));  // else it would wait
        const auto now = [=] { std::memcpy(to, from, bytes); };
        if (finish_) {
            copies_.push_back(now);  // behind the operation
        } else {
            now();
        }
        return kernels::NcclState::in_progress;
    }

    std::chrono::nanoseconds now() override { return std::chrono::milliseconds(pauses_); }
    void pause() override {
        ++pauses_;
        if (meanwhile) meanwhile(pauses_);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }

private:
    std::shared_ptr<std::byte> known(std::size_t bytes) {
        std::byte* memory = new std::byte[bytes];
        known_[memory] = bytes;
        return {memory, [](std::byte* gone) { delete[] gone; }};
    }
    bool is_known(const std::byte* memory, std::size_t bytes) const {
        const auto found = known_.find(memory);
        return found != known_.end() && bytes <= found->second;
    }

    using Given = std::map<int, std::vector<std::byte>>;

    Handle join(int number, int rank, int size) {
        const std::lock_guard lock(board_.mutex);
        FakeBoard::Known& known = board_.communicators[number];
        known.size = size;
        known.here[rank] = true;
        auto made = std::make_shared<Communicator>();
        made->number = number;
        made->rank = rank;
        made->size = size;
        launched_[number] = 0;
        return made;
    }

    kernels::NcclState launch(const Handle& on, std::span<const std::byte> own,
                              std::function<void(const Given&)> finish) {
        if (launch_fails) return kernels::NcclState::failed;
        const std::lock_guard lock(board_.mutex);
        FakeBoard::Known& known = board_.communicators[on->number];
        operation_ = launched_[on->number]++;
        if (known.operations.size() <= operation_) known.operations.resize(operation_ + 1);
        known.operations[operation_].given[on->rank].assign(own.begin(), own.end());
        under_way_ = on->number;
        size_ = on->size;
        finish_ = std::move(finish);
        return kernels::NcclState::in_progress;
    }

    FakeBoard& board_;
    std::map<const std::byte*, std::size_t> known_;
    int pauses_ = 0;
    std::map<int, std::size_t> launched_;  // by communicator
    int under_way_ = 0;
    int size_ = 1;
    std::size_t operation_ = 0;
    std::function<void(const Given&)> finish_;
    std::vector<std::function<void()>> copies_;
};

}  // namespace ukemi
