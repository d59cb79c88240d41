// input_pipeline.hpp — batches made ready on CPU threads while learners compute.
//
// Threads take the numbers of batches in turn, gather their samples (and change them, if a
// function is given: crops, flips, scaling) into memory that comes from the device, pinned where
// there is one, and that is used again as soon as a learner has let go of it. Between threads and
// learners stands the ready queue, of bounded length. Batches come out in order, whichever thread
// was faster, so what a learner gets does not depend on time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "kernels/data_set.hpp"
#include "kernels/learners/object_pool.hpp"
#include "kernels/sample_order.hpp"

namespace ukemi::kernels {

// Samples of one task, feature after feature, in memory that a device reads at full speed.
struct InputBatch {
    std::int64_t number = 0;
    std::int64_t count = 0;
    std::int32_t features = 0;
    std::shared_ptr<std::byte> memory;
    std::span<float> values;             // count × features
    std::span<std::uint8_t> labels;      // count
    std::vector<std::uint32_t> samples;  // which ones
};

struct InputSettings {
    std::int64_t batch = 1;
    int threads = 2;
    int ready_most = 32;  // batches; Crossbow's circular buffer
    std::uint64_t seed = 0;
    // Where batch n begins in the sample order: `first` + n ÷ together · stride + n mod together ·
    // batch. So a worker with `together` learners takes its own part of every step of a group. With
    // stride 0 batches follow each other without a gap.
    std::int64_t first = 0;
    std::int64_t together = 1;
    std::int64_t stride = 0;
    // Changes one sample in place; a function of what it is given only.
    std::function<void(std::span<float> values, std::int64_t batch, std::uint32_t sample)> change;
};

class InputPipeline {
public:
    using Memory = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;
    // `data` outlives this object, and so do leases.
    InputPipeline(const DataSet& data, InputSettings settings, Memory memory);
    ~InputPipeline();
    InputPipeline(const InputPipeline&) = delete;
    InputPipeline& operator=(const InputPipeline&) = delete;

    using Lease = ObjectPool<InputBatch>::Lease;
    // Waits for it. An error on an input thread (no memory, say) is thrown once what is ready is
    // used up.
    Lease next();

    std::int64_t batches() const;             // handed out so far
    std::int64_t waits() const;               // of them those that nobody had ready
    std::chrono::nanoseconds waited() const;  // in next(), for those
    int buffers_most() const { return settings_.ready_most; }

private:
    void work();
    void make_batches();
    bool is_ready() const { return !ready_.empty() && ready_.begin()->first == next_out_; }
    void fill(SampleOrder& order, std::int64_t number, InputBatch& batch) const;
    Lease take_front();

    const DataSet& data_;
    const InputSettings settings_;
    ObjectPool<InputBatch> pool_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::int64_t, Lease> ready_;  // by number
    std::int64_t next_to_fill_ = 0;
    std::int64_t next_out_ = 0;
    std::int64_t waits_ = 0;
    std::chrono::nanoseconds waited_{};
    std::exception_ptr error_;  // the first of an input thread
    bool closing_ = false;
    std::vector<std::jthread> threads_;
};

}  // namespace ukemi::kernels
