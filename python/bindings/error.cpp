#include "latpred/error.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {
namespace {

// Raises the class of latpred.errors that stands for `error`, with its data as attributes.
void raise(const char* class_name, const Error& error) {
  const ErrorData& data = error.data();
  const py::object type = py::module_::import("latpred.errors").attr(class_name);
  const auto text_or_none = [](const std::string& text) -> py::object {
    return text.empty() ? py::object(py::none()) : py::object(python_text(text));
  };
  py::dict fields;
  fields["path"] = text_or_none(data.path);
  fields["offset"] = data.offset < 0 ? py::object(py::none()) : py::object(py::int_(data.offset));
  fields["node"] = text_or_none(data.node);
  fields["operator"] = text_or_none(data.op);
  fields["valid"] = py::tuple(python_texts(data.valid));
  const py::object raised = type(python_text(error.what()), **fields);
  PyErr_SetObject(type.ptr(), raised.ptr());
}

void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const InvalidArgumentError& error) {
    raise("InvalidArgumentError", error);
  } catch (const ModelFileError& error) {
    raise("ModelFileError", error);
  } catch (const ShapeError& error) {
    raise("ShapeError", error);
  } catch (const UnsupportedOperatorError& error) {
    raise("UnsupportedOperatorError", error);
  } catch (const CheckpointError& error) {
    raise("CheckpointError", error);
  } catch (const ProfilerError& error) {
    raise("ProfilerError", error);
  } catch (const MissingDependencyError& error) {
    raise("MissingDependencyError", error);
  } catch (const Error& error) {
    raise("LatpredError", error);
  }
}

}  // namespace

void bind_error(py::module_&) { py::register_exception_translator(&translate); }

}  // namespace latpred
