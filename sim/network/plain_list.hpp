// plain_list.hpp — a list of plain values whose push() costs a store and a comparison where it is
// used: at -O2 g++ calls std::vector's, which took a tenth of the solver's time.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace ukemi::sim {

template <class Value>
class PlainList {
    static_assert(std::is_trivially_copyable_v<Value>);

public:
    [[gnu::always_inline]] void push(const Value& value) {
        if (end() == std::to_address(values_.end())) [[unlikely]] {
            grow();
        }
        values_[count_++] = value;
    }
    // Has so many values from now on, of which the caller writes those that shrink_to() leaves.
    Value* room_for(std::size_t count) {
        if (values_.size() < count) [[unlikely]] {
            values_.resize(2 * count);
        }
        count_ = count;
        return values_.data();
    }
    void pop() { --count_; }
    void clear() { count_ = 0; }
    void shrink_to(std::size_t count) { count_ = count; }  // not above size()

    bool empty() const { return count_ == 0; }
    std::size_t size() const { return count_; }
    Value& operator[](std::size_t i) { return values_[i]; }
    const Value& operator[](std::size_t i) const { return values_[i]; }
    Value& back() { return values_[count_ - 1]; }
    const Value& back() const { return values_[count_ - 1]; }
    Value* begin() { return values_.data(); }
    Value* end() { return values_.data() + count_; }
    const Value* begin() const { return values_.data(); }
    const Value* end() const { return values_.data() + count_; }

private:
    [[gnu::noinline]] void grow() { values_.resize(count_ < 4 ? 4 : 2 * count_); }

    std::vector<Value> values_;  // the first count_ are in use
    std::size_t count_ = 0;
};

}  // namespace ukemi::sim
