// input_pipeline.cpp — threads fill batches, and a map puts them in order.
//
// Not oneTBB's bounded queue: that is first in, first out, and batches come out by number,
// whichever thread was faster. The pool of buffers is what bounds it.
#include "kernels/learners/input_pipeline.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::kernels {

namespace {

std::int64_t begin_of(const InputSettings& settings, std::int64_t number) {
    const std::int64_t run = settings.together * settings.batch;
    const std::int64_t stride = settings.stride > 0 ? settings.stride : run;
    return settings.first + number / settings.together * stride +
           number % settings.together * settings.batch;
}

std::unique_ptr<InputBatch> make_batch(const DataSet& data, const InputSettings& settings,
                                       const InputPipeline::Memory& memory) {
    auto batch = std::make_unique<InputBatch>();
    const auto count = static_cast<std::size_t>(settings.batch);
    const std::size_t values = count * static_cast<std::size_t>(data.features);
    batch->count = settings.batch;
    batch->features = data.features;
    batch->memory = memory(values * sizeof(float) + count);
    batch->values = {reinterpret_cast<float*>(batch->memory.get()), values};
    batch->labels = {reinterpret_cast<std::uint8_t*>(batch->memory.get() + values * sizeof(float)),
                     count};
    batch->samples.resize(count);
    return batch;
}

}  // namespace

InputPipeline::InputPipeline(const DataSet& data, InputSettings settings, Memory memory)
    : data_(data),
      settings_(std::move(settings)),
      pool_(static_cast<std::size_t>(settings_.ready_most),
            [this, memory = std::move(memory)] { return make_batch(data_, settings_, memory); }) {
    INVARIANT(settings_.batch >= 1 && settings_.threads >= 1 && settings_.ready_most >= 1);
    INVARIANT(settings_.first >= 0 && settings_.together >= 1 && settings_.stride >= 0);
    for (int i = 0; i < settings_.threads; ++i) threads_.emplace_back([this] { work(); });
}

InputPipeline::~InputPipeline() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    pool_.close();
    changed_.notify_all();
    threads_.clear();
    ready_.clear();  // back into the pool
}

void InputPipeline::work() {
    try {
        make_batches();
    } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
    }
    changed_.notify_all();
}

void InputPipeline::make_batches() {
    SampleOrder order(settings_.seed, data_.count);
    for (;;) {
        // The buffer first: who has a number must be able to fill it, or everybody waits for it.
        Lease lease = pool_.take();
        if (!lease) return;
        std::int64_t number = 0;
        {
            const std::lock_guard lock(mutex_);
            if (closing_) return;
            number = next_to_fill_++;
        }
        fill(order, number, *lease);
        {
            const std::lock_guard lock(mutex_);
            ready_.emplace(number, std::move(lease));
        }
        changed_.notify_all();
    }
}

void InputPipeline::fill(SampleOrder& order, std::int64_t number, InputBatch& batch) const {
    batch.number = number;
    order.fill(begin_of(settings_, number), batch.samples);
    const auto features = static_cast<std::size_t>(batch.features);
    for (std::size_t i = 0; i < batch.samples.size(); ++i) {
        const std::uint32_t sample = batch.samples[i];
        const auto into = batch.values.subspan(i * features, features);
        std::ranges::copy(data_.sample(sample), into.begin());
        batch.labels[i] = data_.labels[sample];
        if (settings_.change) settings_.change(into, number, sample);
    }
}

InputPipeline::Lease InputPipeline::take_front() {
    Lease lease = std::move(ready_.begin()->second);
    ready_.erase(ready_.begin());
    ++next_out_;
    return lease;
}

InputPipeline::Lease InputPipeline::next() {
    std::unique_lock lock(mutex_);
    if (!is_ready()) {
        const auto asked = std::chrono::steady_clock::now();
        changed_.wait(lock, [&] { return is_ready() || error_; });
        if (!is_ready()) std::rethrow_exception(error_);
        ++waits_;
        waited_ += std::chrono::steady_clock::now() - asked;
    }
    return take_front();
}

std::int64_t InputPipeline::batches() const {
    const std::lock_guard lock(mutex_);
    return next_out_;
}
std::int64_t InputPipeline::waits() const {
    const std::lock_guard lock(mutex_);
    return waits_;
}
std::chrono::nanoseconds InputPipeline::waited() const {
    const std::lock_guard lock(mutex_);
    return waited_;
}

}  // namespace ukemi::kernels
