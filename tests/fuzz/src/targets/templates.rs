//! Parameters of pipeline templates in JSON: the first byte selects the template. A pipeline that is
//! made of them is valid and can be sent.

use e2sm_tc::v1::{self, Pipeline, Validate};
use tc_pipelines::templates::{NAMES, Template};

pub(crate) fn check(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else { return };
    let name = NAMES[usize::from(*choice) % NAMES.len()];
    let Ok(parameters) = serde_json::from_slice(text) else { return };
    let Ok(template) = Template::parse(name, parameters) else { return };
    let Ok(pipeline) = template.pipeline() else { return };
    pipeline.validate().unwrap_or_else(|invalid| panic!("{template:?}: {invalid}"));
    let bytes = v1::encode(&pipeline).expect("a pipeline that can be sent");
    assert_eq!(v1::decode::<Pipeline>(&bytes).expect("and read"), pipeline);
}
