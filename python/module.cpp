// module.cpp — the module `ukemi._core` for the package in python/ukemi, which is what people
// import.
#include <system_error>

#include "base/input_error.hpp"
#include "python/bindings.hpp"
#include "sim/engine/event_queue.hpp"

namespace ukemi::python {

namespace {

// With its number, where it has one of the system's: Python then knows what kind it is.
void set_os_error(const std::system_error& error) {
    const std::error_category& kind = error.code().category();
    if (kind != std::generic_category() && kind != std::system_category()) {
        PyErr_SetString(PyExc_OSError, error.what());
        return;
    }
    const py::object raised =
        py::reinterpret_borrow<py::object>(PyExc_OSError)(error.code().value(), error.what());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
}

}  // namespace

void bind_errors(py::module_& module) {
    static const py::object input_error = py::reinterpret_steal<py::object>(
        py::exception<InputError>(module, "InputError", PyExc_ValueError).release());
    static const py::object policy_error = py::reinterpret_steal<py::object>(
        py::exception<PolicyFailure>(module, "PolicyError", PyExc_RuntimeError).release());
    py::register_exception_translator([](std::exception_ptr thrown) {
        try {
            if (thrown) std::rethrow_exception(thrown);
        } catch (const InputError& error) {
            PyErr_SetString(input_error.ptr(), error.what());
        } catch (const std::system_error& error) {
            set_os_error(error);
        } catch (const sim::RunLimitReached& error) {
            PyErr_SetString(input_error.ptr(), error.what());
        } catch (const PolicyFailure& failure) {
            const py::object error = policy_error(failure.what());
            if (failure.raised().trace()) {
                PyException_SetTraceback(failure.raised().value().ptr(),
                                         failure.raised().trace().ptr());
            }
            PyException_SetCause(error.ptr(), py::object(failure.raised().value()).release().ptr());
            PyErr_SetObject(policy_error.ptr(), error.ptr());
        }
    });
}

}  // namespace ukemi::python

PYBIND11_MODULE(_core, module) {
    ukemi::python::bind_errors(module);
    ukemi::python::bind_values(module);
    ukemi::python::bind_policies(module);
    ukemi::python::bind_loops(module);
    ukemi::python::bind_checkpoints(module);
    ukemi::python::bind_exchange(module);
    ukemi::python::bind_experiments(module);
}
