// bindings.hpp — what the files of the module share: its parts, and what a policy in Python throws.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

namespace ukemi::python {

namespace py = pybind11;

void bind_errors(py::module_& module);
void bind_values(py::module_& module);
void bind_policies(py::module_& module);
void bind_loops(py::module_& module);
void bind_checkpoints(py::module_& module);
void bind_exchange(py::module_& module);
void bind_experiments(py::module_& module);

// A policy in Python raised something. The message says where and when; the exception itself is
// kept for Python to show.
class PolicyFailure : public std::runtime_error {
public:
    PolicyFailure(const std::string& what, const py::error_already_set& raised)
        : std::runtime_error(what), raised_(std::make_shared<py::error_already_set>(raised)) {}
    const py::error_already_set& raised() const { return *raised_; }

private:
    std::shared_ptr<py::error_already_set> raised_;
};

// How many experiments run now: meanwhile no new name comes into the registry.
inline std::atomic<int> experiments_running{0};

}  // namespace ukemi::python
